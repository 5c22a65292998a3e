import type { Generated } from "kysely"

/** How a stored value and the field of a row are made from each other. */
export type Codec = "plain" | "flag" | "json"

export interface ColumnOptions {
  /** The field of the API's resource that has this value. */
  wire?: string
  /**
   * Which statements have the value as an argument: inserts and updates, inserts only, or none. The
   * database or the query itself makes the value in the last case. Default `always`.
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

type Options<O extends ColumnOptions = ColumnOptions> = O

export function text<const N extends string>(name: N): Column<N, string, string>
export function text<const N extends string, O extends ColumnOptions>(name: N, options: O): Column<N, string, string> & O
export function text<const N extends string>(name: N, options: Options = {}): Column<N, string, string> {
  return { name, codec: "plain", ...options }
}

/** A text with few values. */
export function oneOf<T extends string>(): <const N extends string>(name: N, options?: Options) => Column<N, T, string> {
  return (name, options = {}) => ({ name, codec: "plain", ...options })
}

export function nullableText<const N extends string>(name: N, options: Options = {}): Column<N, string | null, string | null> {
  return { name, codec: "plain", ...options }
}

/** An amount, an ID, or a time in milliseconds since the epoch. */
export function integer<const N extends string>(name: N, options: Options = {}): Column<N, number, number> {
  return { name, codec: "plain", ...options }
}

export function nullableInteger<const N extends string>(name: N, options: Options = {}): Column<N, number | null, number | null> {
  return { name, codec: "plain", ...options }
}

/** An ID that the database draws. */
export function generatedId(options: Options = {}): Column<"id", number, Generated<number>> {
  return { name: "id", codec: "plain", written: "never", ...options }
}

/** Stored as 0 or 1. */
export function flag<const N extends string>(name: N, options: Options = {}): Column<N, boolean, number> {
  return { name, codec: "flag", ...options }
}

/** A list or an object, stored as JSON. Filters cannot compare with it. */
export function json<T>(): <const N extends string>(name: N, options?: Options) => Column<N, T, null extends T ? string | null : string> {
  return (name, options = {}) => ({ name, codec: "json", ...options })
}

type NameColumn = "user_name" | "group_name"

/**
 * The name of the person or group whose ID the row has. It never changes, so the row has a copy.
 */
export function copiedName<const N extends NameColumn>(name: N, options: Options = {}): Column<N, string, string> {
  return { name, codec: "plain", written: "never", isCopied: true, ...options }
}

/** The same without a copy: each read looks the name up. */
export function joinedName<const N extends NameColumn>(name: N, options: Options = {}): Column<N, string, never> {
  return { name, codec: "plain", written: "never", isJoined: true, ...options }
}
