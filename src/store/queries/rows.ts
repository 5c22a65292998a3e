import { sql } from "kysely"
import { carried, insertedColumns, type RowTable, type StampedTable, updatedColumns } from "../tables/columns.ts"
import type { Build } from "./build.ts"
import { column, outlineColumns, partColumns, rowColumns } from "./select.ts"

type Args = Readonly<Record<string, unknown>>
/** Tables share the columns that these queries name; Kysely is told so by one of them. */
type Any = "images"

/**
 * What all tables of rows have in common. The shape is the table; arguments of writes are its
 * columns.
 */
export const rows = {
  get: ({ db }: Build, args: { id: number }, table: Exclude<RowTable, "sessions">) =>
    db
      .selectFrom(table as Any)
      .select(rowColumns(table))
      .where(column(table, "id"), "=", args.id),

  getMany: ({ db, among }: Build, args: { ids: readonly number[] }, table: RowTable) =>
    db
      .selectFrom(table as Any)
      .select(rowColumns(table))
      .where(among(column(table, "id"), args.ids))
      .orderBy(column(table, "id")),

  /** As lists read rows; `part`: as they stand inside other things. */
  outlines: ({ db, among }: Build, args: { ids: readonly number[] }, { table, part }: { table: RowTable; part: boolean }) =>
    db
      .selectFrom(table as Any)
      .select(outlineColumns(table, { withDoc: !part }))
      .where(among(column(table, "id"), args.ids))
      .orderBy(column(table, "id")),

  parts: ({ db, among }: Build, args: { ids: readonly number[] }, { table }: { table: RowTable }) =>
    db
      .selectFrom(table as Any)
      .select(partColumns(table))
      .where(among(column(table, "id"), args.ids))
      .orderBy(column(table, "id")),

  /** Gives no row when what may stand only once stands already. */
  insert: ({ db }: Build, args: Args, table: StampedTable) =>
    db
      .insertInto(table as Any)
      .values({ ...pick(args, insertedColumns(table)), ...namesFor(table, args), version: sql.lit(1) } as never)
      .onConflict((conflict) => conflict.doNothing())
      .returning(rowColumns(table)),

  update: ({ db }: Build, args: Args & { id: number }, table: StampedTable) =>
    db
      .updateTable(table as Any)
      .set({ ...pick(args, updatedColumns(table)), ...namesFor(table, args), version: sql`version + 1` } as never)
      .where(column(table, "id"), "=", args.id)
      .returning(rowColumns(table)),

  setDeleted: ({ db }: Build, args: { id: number; deleted_at: number | null; updated_at: number }, table: StampedTable) =>
    db
      .updateTable(table as Any)
      .set({ deleted_at: args.deleted_at, updated_at: args.updated_at, version: sql`version + 1` } as never)
      .where(column(table, "id"), "=", args.id)
      .returning(rowColumns(table)),
}

export function pick(args: Args, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, args[name]]))
}

const nameOf = {
  user_name: (args: Args) => sql`(select users.user_name from users where users.id = ${args.user_id})`,
  group_name: (args: Args) => sql`coalesce((select groups.group_name from groups where groups.id = ${args.group_id}), '')`,
}

/** The names that a row of this table carries, by the IDs that it is written with. */
export function namesFor(table: StampedTable | "runs", args: Args): Record<string, unknown> {
  const names: readonly (keyof typeof nameOf)[] = table in carried ? carried[table as keyof typeof carried] : []
  return Object.fromEntries(names.map((name) => [name, nameOf[name](args)]))
}
