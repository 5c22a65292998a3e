import type { ColumnValue } from "../values.ts"
import type { Codec, Column } from "./column.ts"

export type TableColumns = Readonly<Record<string, Column>>
type FieldOf<C> = C extends Column<string, infer Field, unknown> ? Field : never
/** The row that a table's fields make. */
export type RowOf<F extends TableColumns> = { -readonly [K in keyof F]: FieldOf<F[K]> }

/** The fields that a new row may leave out. */
export type OptionalFields<F> = { [K in keyof F]: F[K] extends { initial: string } ? K : never }[keyof F]

/** Reads rows that queries give as arrays. */
export interface RowMapper<Row> {
  /** The columns in the order in which `toRow` reads them. */
  readonly columns: readonly string[]
  toRow(values: readonly ColumnValue[]): Row
}

export function rowMapper<Row>(fields: TableColumns): RowMapper<Row> {
  let read: ((values: readonly ColumnValue[]) => Row) | undefined
  return {
    columns: Object.values(fields).map(({ name }) => name),
    toRow(values) {
      read ??= compileReader<Row>(fields)
      return read(values)
    },
  }
}

/** A mapper of some fields of a table's rows. */
export function pickFields<F extends TableColumns, const K extends keyof F & string>(
  table: { readonly fields: F },
  names: readonly K[],
): RowMapper<Pick<RowOf<F>, K>> {
  return rowMapper(Object.fromEntries(names.map((name) => [name, table.fields[name] as Column])))
}

const readers: Record<Codec, (value: string) => string> = {
  plain: (value) => value,
  flag: (value) => `${value} === 1`,
  // Thousands of rows with empty lists may be read at once.
  json: (value) => `${value} === null ? null : ${value} === "[]" ? [] : JSON.parse(${value})`,
}

/**
 * A function that makes a row as an object literal. The engine then knows the row's layout: a loop
 * that assigns the fields takes about 50 times as long. Names come from descriptions only.
 */
function compileReader<Row>(fields: TableColumns): (values: readonly ColumnValue[]) => Row {
  const properties = Object.entries(fields).map(([field, { codec }], i) => `${JSON.stringify(field)}: ${readers[codec](`values[${i}]`)}`)
  return new Function("values", `return { ${properties.join(", ")} }`) as (values: readonly ColumnValue[]) => Row
}
