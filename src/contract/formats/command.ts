/** The values of a command's placeholders when the run starts. */
export interface Placeholders {
  /** The port that the program should listen on. */
  port: string
  /** The path below which the program lives, with a slash at both ends. */
  baseUrl: string
}
const placeholderNames = ["port", "baseUrl"] as const satisfies readonly (keyof Placeholders)[]

/** A command that does not follow the grammar; the message says what it must be. */
export class CommandError extends Error {
  override readonly name = "CommandError"
}

/**
 * Splits a command into words: the text of a JSON array of strings, or one line with the quoting
 * rules of a POSIX shell. Nothing is expanded: `$`, `*`, `;` and the like are ordinary characters.
 * An empty text gives no words, which means the image's own command or the type's default.
 */
export function parseCommand(text: string): string[] {
  const trimmed = text.trim()
  const words = trimmed.startsWith("[") ? jsonWords(trimmed) : shellWords(trimmed)
  for (const word of words) checkPlaceholders(word)
  return words
}

/** A description of valid commands, or undefined if the text is one. */
export function commandError(text: string): string | undefined {
  try {
    parseCommand(text)
    return undefined
  } catch (error) {
    if (error instanceof CommandError) return error.message
    throw error
  }
}

/** Fills in the placeholders of a command's words. */
export function substitutePlaceholders(words: readonly string[], values: Placeholders): string[] {
  return words.map((word) => word.replace(placeholder, (whole, name: keyof Placeholders) => values[name] ?? whole))
}

/** `{name}`, but not a shell's `${name}`. */
const placeholder = /(?<!\$)\{([A-Za-z][A-Za-z0-9_]*)\}/g

function checkPlaceholders(word: string): void {
  for (const [whole, name] of word.matchAll(placeholder)) {
    if (!(placeholderNames as readonly string[]).includes(name ?? "")) {
      throw new CommandError(`a command whose placeholders are {port} or {baseUrl}, not ${whole}`)
    }
  }
}

function jsonWords(text: string): string[] {
  let words: unknown
  try {
    words = JSON.parse(text)
  } catch {
    throw new CommandError('a line, or the text of a JSON array of strings like ["serve", "--port", "{port}"]')
  }
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string")) {
    throw new CommandError("the text of a JSON array that holds strings only")
  }
  if (words.some((word) => !word.isWellFormed() || word.includes("\0"))) throw new CommandError("words without NUL, in well-formed Unicode")
  return words
}

function shellWords(text: string): string[] {
  if (/[\r\n]/.test(text)) throw new CommandError("one line, or the text of a JSON array of strings")
  const words: string[] = []
  let word: string | undefined
  for (let i = 0; i < text.length; i += 1) {
    const c = text[i] as string
    if (c === " " || c === "\t") {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (c === "'" || c === '"') {
      const [inside, end] = quoted(text, i)
      word = (word ?? "") + inside
      i = end
    } else if (c === "\\") {
      i += 1
      if (i >= text.length) throw new CommandError("a line that does not end in a lone backslash")
      word = (word ?? "") + text[i]
    } else word = (word ?? "") + c
  }
  if (word !== undefined) words.push(word)
  return words
}

/** The text between the quote at `start` and the closing quote, and the position of that one. */
function quoted(text: string, start: number): [inside: string, end: number] {
  const quote = text[start]
  let inside = ""
  for (let i = start + 1; i < text.length; i += 1) {
    const c = text[i] as string
    if (c === quote) return [inside, i]
    if (quote === '"' && c === "\\" && /["\\$`]/.test(text[i + 1] ?? "")) {
      i += 1
      inside += text[i]
    } else inside += c
  }
  throw new CommandError(`a line whose quotes are closed (${quote} is open at character ${start + 1})`)
}
