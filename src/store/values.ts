/** What a column stores. */
export type ColumnValue = string | number | null
/** What a parameter accepts: flags become 0 and 1, a list is one parameter. */
export type QueryArgument = ColumnValue | boolean | readonly number[] | readonly string[]

/**
 * PostgreSQL stores no NUL in a text and refuses to compare with one. It becomes the character that
 * replaces other unreadable ones.
 */
export function withoutNul(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text
}
