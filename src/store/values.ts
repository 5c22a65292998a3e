/** A value of a column. */
export type ColumnValue = string | number | null
/** The value of a parameter: flags become 0 and 1, a list is one parameter. */
export type QueryArgument = ColumnValue | boolean | readonly number[] | readonly string[]

/** PostgreSQL rejects NUL in texts, so the replacement character is stored and compared instead. */
export function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text
}
