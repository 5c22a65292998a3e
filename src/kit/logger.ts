import { pino } from "pino"

/** Structured lines: an event in few words and its fields. Never given a secret: callers pass ids and names only. */
export interface Logger {
  debug(fields: object, text: string): void
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
  child(fields: object): Logger
}

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const
export type LogLevel = (typeof logLevels)[number]

/** JSON lines on standard error, so that standard output stays free for what a command prints. An `err` field is written with its stack. */
export function createLogger(level: LogLevel): Logger {
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination({ dest: 2, sync: true }))
}

export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
}
