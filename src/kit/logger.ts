/**
 * Writes structured lines: a short text and fields. Callers pass IDs and names, never secrets.
 */
export interface Logger {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
  child(fields: object): Logger
}

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const
export type LogLevel = (typeof logLevels)[number]

/**
 * Writes JSON lines `{time, level, …fields, msg}` to standard error: standard output is for a
 * command's own output. Errors in fields appear with name, code, stack and causes. `write` also
 * receives the level, so that it can write urgent lines at once.
 */
export function createLogger(level: LogLevel, write: WriteLine = (line) => void process.stderr.write(line)): Logger {
  return new LineLogger(logLevels.indexOf(level), {}, write)
}

export type WriteLine = (line: string, level: Exclude<LogLevel, "silent">) => void

class LineLogger implements Logger {
  readonly #minLevel: number
  readonly #fields: object
  readonly #write: WriteLine

  constructor(minLevel: number, fields: object, write: WriteLine) {
    this.#minLevel = minLevel
    this.#fields = fields
    this.#write = write
  }

  debug(fields: object, text: string): void {
    this.#log("debug", fields, text)
  }
  info(fields: object, text: string): void {
    this.#log("info", fields, text)
  }
  warn(fields: object, text: string): void {
    this.#log("warn", fields, text)
  }
  error(fields: object, text: string): void {
    this.#log("error", fields, text)
  }
  child(fields: object): Logger {
    return new LineLogger(this.#minLevel, { ...this.#fields, ...fields }, this.#write)
  }

  #log(level: Exclude<LogLevel, "silent">, fields: object, text: string): void {
    if (logLevels.indexOf(level) < this.#minLevel) return
    const line = { time: new Date().toISOString(), level, ...this.#fields, ...fields, msg: text }
    this.#write(`${textOf(line)}\n`, level)
  }
}

/** The line without its fields if one of them cannot be serialized. */
function textOf(line: { time: string; level: string; msg: string }): string {
  try {
    return JSON.stringify(line, replacer)
  } catch (error) {
    const { time, level, msg } = line
    return JSON.stringify({ time, level, msg, unwritable: String(error) })
  }
}

function replacer(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value)
  return value instanceof Error ? plainError(value, 0) : value
}

/** An error as plain data, with at most five causes. */
function plainError(error: Error, depth: number): object {
  const { name, message, stack, cause } = error
  const { code } = error as NodeJS.ErrnoException
  return {
    name,
    message,
    ...(code === undefined ? {} : { code }),
    stack,
    ...(cause instanceof Error && depth < 5 ? { cause: plainError(cause, depth + 1) } : {}),
  }
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
}
