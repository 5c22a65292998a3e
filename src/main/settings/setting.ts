/**
 * A wrong setting. The message names it, the values that it may have, and the value that it has.
 */
export class SettingError extends Error {
  override readonly name = "SettingError"
}

export interface Setting<T> {
  /** Without `QUAYSIDE_`. */
  env: string
  /** The default in words, for the reference page; `initial` is the value itself. */
  default: string
  initial: T
  doc: string
  read: (text: string) => T
}

/** Infers the type of a row of the table. */
export const setting = <T>(row: Setting<T>) => row
