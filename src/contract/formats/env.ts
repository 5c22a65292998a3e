/** Environment settings that do not follow the grammar; the message says what it must be. */
class EnvError extends Error {
  override readonly name = "EnvError"
}

const keyPattern = /^[A-Za-z_][A-Za-z0-9_.-]*$/

/**
 * Reads environment settings: lines of `KEY=VALUE` as in dotenv files (`#` comments, `export`,
 * single and double quotes, `\n` in double quotes, quoted values over several lines), or the text
 * of a JSON object of strings. A key that stands twice counts with its last value.
 */
export function parseEnv(text: string): Record<string, string> {
  return text.trimStart().startsWith("{") ? jsonEnv(text) : dotenv(text)
}

/** A description of valid environments, or undefined if the text is one. */
export function envError(text: string): string | undefined {
  try {
    parseEnv(text)
    return undefined
  } catch (error) {
    if (error instanceof EnvError) return error.message
    throw error
  }
}

function jsonEnv(text: string): Record<string, string> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new EnvError("lines of KEY=VALUE, or the text of a JSON object of strings")
  }
  const env = newEnv()
  for (const [key, entry] of Object.entries(value as object)) {
    if (typeof entry !== "string") throw new EnvError(`the text of a JSON object that holds strings only (${key} is none)`)
    setVariable(env, key, entry, "its JSON object")
  }
  return env
}

function dotenv(text: string): Record<string, string> {
  const env = newEnv()
  const lines = text.split(/\r\n|\n|\r/)
  for (let i = 0; i < lines.length; i += 1) {
    const at = i + 1
    const line = (lines[i] ?? "").trim().replace(/^export\s+/, "")
    if (line === "" || line.startsWith("#")) continue
    const equals = line.indexOf("=")
    if (equals < 0) throw new EnvError(`lines of KEY=VALUE (line ${at} has no =)`)
    let value = line.slice(equals + 1).trim()
    const quote = value[0]
    if (quote === '"' || quote === "'") {
      const quoted = readQuoted(value.slice(1), quote, { lines, from: i })
      i = quoted.last
      value = quoted.text
    } else value = withoutComment(value)
    setVariable(env, line.slice(0, equals).trim(), value, `line ${at}`)
  }
  return env
}

function withoutComment(value: string): string {
  const start = value.search(/\s#/)
  return (start < 0 ? value : value.slice(0, start)).trim()
}

/**
 * Reads a quoted value that may span lines: `first` is the rest of line `from` after the opening
 * quote. Each line is scanned once, so that an open quote costs no more than its text.
 */
function readQuoted(
  first: string,
  quote: string,
  { lines, from }: { lines: readonly string[]; from: number },
): { text: string; last: number } {
  const inside: string[] = []
  for (let i = from; i < lines.length; i += 1) {
    const line = i === from ? first : (lines[i] as string)
    const end = closing(line, quote)
    if (end < 0) {
      inside.push(line)
      continue
    }
    const rest = line.slice(end + 1).trim()
    if (rest !== "" && !rest.startsWith("#")) throw new EnvError(`nothing behind the closing quote (line ${from + 1})`)
    inside.push(line.slice(0, end))
    return { text: unescaped(inside.join("\n"), quote), last: i }
  }
  throw new EnvError(`lines whose quotes are closed (${quote} is open in line ${from + 1})`)
}

/**
 * The index of the quote that closes a value, or -1. In double quotes a backslash hides the next
 * character.
 */
function closing(line: string, quote: string): number {
  for (let i = 0; i < line.length; i += 1) {
    if (quote === '"' && line[i] === "\\") i += 1
    else if (line[i] === quote) return i
  }
  return -1
}

function unescaped(inside: string, quote: string): string {
  if (quote === "'") return inside
  return inside.replace(/\\(.)/gs, (whole, c: string) => ({ n: "\n", r: "\r", t: "\t", '"': '"', "\\": "\\", $: "$" })[c] ?? whole)
}

function newEnv(): Record<string, string> {
  return Object.create(null) as Record<string, string>
}

function setVariable(env: Record<string, string>, key: string, value: string, where: string): void {
  if (!keyPattern.test(key))
    throw new EnvError(
      `names of letters, digits, _ . and - that start with a letter or _ (${where} has ${JSON.stringify(key.slice(0, 40))})`,
    )
  if (value.includes("\0") || !value.isWellFormed()) throw new EnvError(`values without NUL, in well-formed Unicode (${where})`)
  env[key] = value
}
