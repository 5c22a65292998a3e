import type { QueryArgument } from "../values.ts"
import type { Column } from "./column.ts"
import type { GrantableType } from "./resource-type.ts"
import { type RowMapper, type RowOf, rowMapper, type TableColumns } from "./row-mapper.ts"
import { stamps } from "./stamps.ts"

/**
 * Texts that are made from a row's fields whenever it is written, by the column that holds them.
 */
type Derived<F extends TableColumns> = Readonly<Record<string, (row: RowOf<F>) => string>>

interface Description<Name extends string, F extends TableColumns, D, I, R> {
  name: Name
  /** By the names that rows have; in the order in which queries read the columns. */
  fields: F
  /** Columns made from the fields, to search, sort or compare by. */
  derived?: D
  /** Columns that only queries and triggers write and read. */
  internal?: I
  /** The name of a row in grants, events and the audit. */
  resourceType?: R
}

/** A table as the code sees it that works with any. */
export interface RowTable<Row, Name extends string = string> extends RowMapper<Row> {
  readonly name: Name
  readonly fields: TableColumns
  /** The columns of the given fields, and those derived from them. */
  toColumns(row: object): Record<string, QueryArgument>
}

/** All that the store knows of one table. */
export interface Table<Name extends string = string, F extends TableColumns = TableColumns, D = unknown, I = unknown>
  extends RowTable<RowOf<F>, Name> {
  readonly fields: F
  /** All columns of the table in the database. */
  readonly storedColumns: readonly string[]
  /** Fields that a body may set, each with its API name. */
  readonly bodyFields: readonly (readonly [field: string, apiName: string])[]
  /** Columns that are arguments of an insert. */
  readonly insertColumns: readonly string[]
  /** Columns that are arguments of an update. */
  readonly updateColumns: readonly string[]
  /** Names that the insert and the update copy from other tables. */
  readonly copiedNames: readonly string[]
  /** Never set: these give both types to the type checker. */
  readonly derivedType?: D
  readonly internalType?: I
}

export function describeTable<
  const Name extends string,
  F extends TableColumns,
  D extends Derived<F> = Record<never, never>,
  I extends TableColumns = Record<never, never>,
  R extends GrantableType | undefined = undefined,
>(description: Description<Name, F, D, I, R>): Table<Name, F, D, I> & { readonly resourceType: R } {
  const { name, fields, derived, internal, resourceType } = description
  const columns = Object.values(fields)
  const derivedColumns = Object.entries(derived ?? {})
  const written = Object.entries(fields).filter(([, column]) => column.written !== "never")
  const named = (filter: (column: Column) => boolean) => columns.filter(filter).map((column) => column.name)
  const derivedNames = derivedColumns.map(([column]) => column)
  return {
    ...rowMapper<RowOf<F>>(fields),
    name,
    fields,
    resourceType: resourceType as R,
    storedColumns: [...named((column) => !column.isJoined), ...derivedNames, ...Object.values(internal ?? {}).map((column) => column.name)],
    bodyFields: bodyFieldsOf(fields),
    insertColumns: [...named((column) => column.written !== "never"), ...derivedNames],
    updateColumns: [...named((column) => (column.written ?? "always") === "always"), ...derivedNames],
    copiedNames: named((column) => column.isCopied === true),
    toColumns(row) {
      const values: Record<string, QueryArgument> = {}
      const given = row as RowOf<F>
      for (const [field, column] of written) {
        const value = given[field] === undefined ? column.initial : given[field]
        if (value !== undefined) values[column.name] = encode(column, value)
      }
      for (const [column, derive] of derivedColumns) values[column] = derive(given)
      return values
    },
  }
}

function bodyFieldsOf(fields: TableColumns): [string, string][] {
  const set: [string, string][] = []
  for (const [field, { apiName, isCopied }] of Object.entries(fields)) {
    if (apiName !== undefined && !isCopied && !Object.hasOwn(stamps, field)) set.push([field, apiName])
  }
  return set
}

function encode({ codec }: Column, value: unknown): QueryArgument {
  return codec === "json" && value !== null ? JSON.stringify(value) : (value as QueryArgument)
}

/** The bytes of those texts of a row that lists may leave out, as the database counts them. */
export function longTextBytes({ fields }: { readonly fields: TableColumns }, row: object): number {
  const texts = Object.entries(fields).filter(([, { maxListedBytes }]) => maxListedBytes !== undefined)
  return texts.reduce((sum, [field]) => sum + Buffer.byteLength((row as Record<string, string | undefined>)[field] ?? ""), 0)
}
