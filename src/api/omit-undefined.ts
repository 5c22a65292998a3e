/** Only the fields that were given. */
type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

export function omitUndefined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}
