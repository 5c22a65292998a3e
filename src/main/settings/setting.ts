/** A setting that cannot be used; the message names it, says what is wanted and what came. */
export class SettingError extends Error {
  override readonly name = "SettingError"
}

export interface Setting<T> {
  /** Without `QUAYSIDE_`. */
  env: string
  /** In words, for the reference page; the value itself is `initial`. */
  default: string
  initial: T
  doc: string
  read: (text: string) => T
}

/** Gives a row of a table its type. */
export const setting = <T>(row: Setting<T>) => row
