import type { Column } from "./column.ts"
import type { tables } from "./index.ts"
import type { TableColumns } from "./row-mapper.ts"
import type { Table } from "./table.ts"

type StoredColumns<F> = {
  [K in keyof F as F[K] extends Column<infer Name, unknown, infer Stored>
    ? [Stored] extends [never]
      ? never
      : Name
    : never]: F[K] extends Column<string, unknown, infer Stored> ? Stored : never
}
type ColumnsOf<T> =
  T extends Table<string, infer F extends TableColumns, infer D, infer I>
    ? StoredColumns<F> & { [K in keyof D]: string } & StoredColumns<I>
    : never

/** Every table for Kysely's types, as the newest migration leaves it. */
export type Schema = { [Name in keyof typeof tables]: ColumnsOf<(typeof tables)[Name]> } & {
  meta: { key: string; value: string }
  group_members: { group_id: number; user_id: number }
  /** Maintained by triggers. Block -1 has the sum of the others. */
  counters: { key: string; block: number; n: number }
  /** Maintained by triggers: a block's version grows with each change of one of its rows. */
  block_versions: { kind: string; block: number; version: number }
  /** The newest row of each table that the full-text index of SQLite has. */
  search_marks: { kind: string; id: number }
  /** Changed rows whose new texts the full-text index of SQLite does not have yet. */
  search_pending: { kind: string; id: number }
}
