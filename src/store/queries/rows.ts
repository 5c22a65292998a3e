import { sql } from "kysely"
import { type StampedTable, type TableName, tables } from "../tables/index.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { column, partColumns, pickColumns, rowColumns, summaryColumns } from "./select.ts"

type Args = Readonly<Record<string, unknown>>

/**
 * Queries that all tables of rows share. The shape is the table; arguments of writes are its
 * columns.
 */
export const rowQueries = {
  get: ({ anyTable }: QueryBuilder, args: { id: number }, table: StampedTable | "tokens" | "sessions" | "runs") =>
    anyTable.selectFrom(table).select(rowColumns(table)).where(column(table, "id"), "=", args.id),

  getMany: ({ anyTable, among }: QueryBuilder, args: { ids: readonly number[] }, table: TableName) =>
    anyTable
      .selectFrom(table)
      .select(rowColumns(table))
      .where(among(column(table, "id"), args.ids))
      .orderBy(column(table, "id")),

  /** Rows as lists read them; with `part`, as they appear inside other resources. */
  summaries: ({ anyTable, among }: QueryBuilder, args: { ids: readonly number[] }, { table, part }: { table: TableName; part: boolean }) =>
    anyTable
      .selectFrom(table)
      .select(summaryColumns(table, { withDoc: !part }))
      .where(among(column(table, "id"), args.ids))
      .orderBy(column(table, "id")),

  columns: (
    { anyTable, among }: QueryBuilder,
    args: { ids: readonly number[] },
    { table, columns }: { table: TableName; columns: readonly string[] },
  ) =>
    anyTable
      .selectFrom(table)
      .select(pickColumns(table, { columns }))
      .where(among(column(table, "id"), args.ids))
      .orderBy(column(table, "id")),

  parts: ({ anyTable, among }: QueryBuilder, args: { ids: readonly number[] }, { table }: { table: TableName }) =>
    anyTable
      .selectFrom(table)
      .select(partColumns(table))
      .where(among(column(table, "id"), args.ids))
      .orderBy(column(table, "id")),

  /** Returns no row if another row has one of the unique values. */
  insert: ({ anyTable }: QueryBuilder, args: Args, table: StampedTable) =>
    anyTable
      .insertInto(table)
      .values({ ...insertedValues(table, args), version: sql.lit(1) })
      .onConflict((conflict) => conflict.doNothing())
      .returning(rowColumns(table)),

  update: ({ anyTable }: QueryBuilder, args: Args & { id: number }, table: StampedTable) =>
    anyTable
      .updateTable(table)
      .set({ ...pickArguments(args, tables[table].updateColumns), ...copiedNames(table, args), version: sql`version + 1` })
      .where(column(table, "id"), "=", args.id)
      .returning(rowColumns(table)),

  setDeleted: ({ anyTable }: QueryBuilder, args: { id: number; deleted_at: number | null; updated_at: number }, table: StampedTable) =>
    anyTable
      .updateTable(table)
      .set({ deleted_at: args.deleted_at, updated_at: args.updated_at, version: sql`version + 1` })
      .where(column(table, "id"), "=", args.id)
      .returning(rowColumns(table)),
}

export function pickArguments(args: Args, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, args[name]]))
}

/** All values of an insert: its arguments, and the names that it copies. */
export function insertedValues(table: TableName, args: Args): Record<string, unknown> {
  return { ...pickArguments(args, tables[table].insertColumns), ...copiedNames(table, args) }
}

/** The names of the person and the group of the new row. */
function copiedNames(table: TableName, args: Args): Record<string, unknown> {
  return Object.fromEntries(tables[table].copiedNames.map((name) => [name, copiedName(name, args)]))
}

function copiedName(name: string, args: Args) {
  if (name === "user_name") return sql`(select users.user_name from users where users.id = ${args.user_id})`
  return sql`coalesce((select groups.group_name from groups where groups.id = ${args.group_id}), '')`
}
