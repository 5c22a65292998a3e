import type { Generated } from "kysely"

/** How a stored value and the field of a row are made from each other. */
export type Codec = "plain" | "flag" | "json"

export interface ColumnOptions {
  /** The name of the API's field that has this value. */
  apiName?: string
  /**
   * The statements that have the value as an argument: inserts and updates, inserts only, or none.
   * The database or the query itself makes the value in the last case. Default `always`.
   */
  written?: "always" | "once" | "never"
  /** New rows that do not give the field have this text. */
  initial?: string
  /** Lists leave out a longer text. In bytes; default: no limit. */
  maxListedBytes?: number
  /** Whether lists add up the text's bytes. Default: only where `maxListedBytes` is set. */
  countsBytes?: boolean
  /** Rows inside other answers have an empty text instead. */
  isOmittedInParts?: boolean
  /** Filters cannot compare with it. */
  isSecret?: boolean
  /** The column that has the value folded. Its index finds the rows that have the value. */
  foldedIn?: "name_fold"
}

/** One column: its name, the type of the row's field, and the type of the stored value. */
export interface Column<Name extends string = string, Field = unknown, Stored = unknown> extends ColumnOptions {
  readonly name: Name
  readonly codec: Codec
  /** The name is no column of this table: reads look it up by the row's ID of a person or group. */
  readonly isJoined?: true
  /** Inserts and updates copy the name from the table of people or groups. */
  readonly isCopied?: true
  /** Never set: these give both types to the type checker. */
  readonly fieldType?: Field
  readonly storedType?: Stored
}

type None = Record<never, never>

/** The options remain in the type: the names of the API's fields are read from it. */
function column<Name extends string, Field, Stored, O extends object>(
  base: Column<Name, Field, Stored>,
  options: O | undefined,
): Column<Name, Field, Stored> & O {
  return { ...base, ...options } as Column<Name, Field, Stored> & O
}

export function text<const N extends string, const O extends ColumnOptions = None>(name: N, options?: O) {
  return column<N, string, string, O>({ name, codec: "plain" }, options)
}

/** A text with few values. */
export function oneOf<T extends string>() {
  return <const N extends string, const O extends ColumnOptions = None>(name: N, options?: O) =>
    column<N, T, string, O>({ name, codec: "plain" }, options)
}

export function nullableText<const N extends string, const O extends ColumnOptions = None>(name: N, options?: O) {
  return column<N, string | null, string | null, O>({ name, codec: "plain" }, options)
}

/** An amount, an ID, or a time in milliseconds since the epoch. */
export function integer<const N extends string, const O extends ColumnOptions = None>(name: N, options?: O) {
  return column<N, number, number, O>({ name, codec: "plain" }, options)
}

export function nullableInteger<const N extends string, const O extends ColumnOptions = None>(name: N, options?: O) {
  return column<N, number | null, number | null, O>({ name, codec: "plain" }, options)
}

/** An ID that the database draws. */
export function generatedId<const O extends ColumnOptions = None>(options?: O) {
  return column<"id", number, Generated<number>, O>({ name: "id", codec: "plain", written: "never" }, options)
}

/** Stored as 0 or 1. */
export function flag<const N extends string, const O extends ColumnOptions = None>(name: N, options?: O) {
  return column<N, boolean, number, O>({ name, codec: "flag" }, options)
}

/** A list or an object, stored as JSON. Filters cannot compare with it. */
export function json<T>() {
  return <const N extends string, const O extends ColumnOptions = None>(name: N, options?: O) =>
    column<N, T, null extends T ? string | null : string, O>({ name, codec: "json" }, options)
}

type NameColumn = "user_name" | "group_name"

/**
 * The name of the person or group whose ID the row has. It never changes, so the row has a copy.
 */
export function copiedName<const N extends NameColumn, const O extends ColumnOptions = None>(name: N, options?: O) {
  return column<N, string, string, O & { readonly isCopied: true }>(
    { name, codec: "plain", written: "never" },
    { ...(options as O), isCopied: true },
  )
}

/** The same without a copy: each read looks the name up. */
export function joinedName<const N extends NameColumn, const O extends ColumnOptions = None>(name: N, options?: O) {
  return column<N, string, never, O>({ name, codec: "plain", written: "never", isJoined: true }, options)
}
