/**
 * Structured lines: an event in few words and its fields. Never given a secret: callers pass ids
 * and names only.
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
 * JSON lines `{time, level, …fields, msg}` on standard error, so that standard output stays free
 * for what a command prints. Errors among the fields are written with name, code, stack and causes.
 * `write` is told the line's level too: what is urgent must not wait.
 */
export function createLogger(level: LogLevel, write: WriteLine = (line) => void process.stderr.write(line)): Logger {
  return new LineLogger(logLevels.indexOf(level), {}, write)
}

export type WriteLine = (line: string, level: Exclude<LogLevel, "silent">) => void

class LineLogger implements Logger {
  readonly #least: number
  readonly #fields: object
  readonly #write: WriteLine

  constructor(least: number, fields: object, write: WriteLine) {
    this.#least = least
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
    return new LineLogger(this.#least, { ...this.#fields, ...fields }, this.#write)
  }

  #log(level: Exclude<LogLevel, "silent">, fields: object, text: string): void {
    if (logLevels.indexOf(level) < this.#least) return
    const line = { time: new Date().toISOString(), level, ...this.#fields, ...fields, msg: text }
    this.#write(`${textOf(line)}\n`, level)
  }
}

/** A field that cannot be written must not cost more than itself. */
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

/** As much of an error as helps; a chain of causes ends after five. */
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
