export { Directory, namesOf } from "./beneath.ts"
export { type Clock, ManualClock, systemClock } from "./clock.ts"
export { createLogger, type Logger, type LogLevel, logLevels, silentLogger } from "./logger.ts"
export { deadline, Overloaded, type RetryOptions, retry, Semaphore } from "./waiting.ts"
