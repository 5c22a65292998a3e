import { sql } from "kysely"
import { blockSize } from "./block-size.ts"
import type { Build } from "./build.ts"
import type { ResourceTable } from "./columns.ts"
import { type ListArgs, type ListShape, matches } from "./lists.ts"
import { column } from "./select.ts"

export interface HoldersArgs {
  /** For SQLite: an expression of FTS5. */
  match?: string
  /** For PostgreSQL: a pattern of LIKE. */
  pattern?: string
  limit: number
}

/** Finding rows by words. */
export const search = {
  /**
   * IDs of all rows that can hold the words, by an index of trigrams: a superset, since only what
   * is in `search` now decides. At most `limit` of them.
   */
  holders: ({ db, dialect }: Build, args: HoldersArgs, table: ResourceTable) => {
    const indexed = sql.ref(`${table}_search`)
    const found =
      dialect === "postgres"
        ? sql<{ id: number }>`(select id from ${sql.table(table)} where search like ${args.pattern})`
        : sql<{ id: number }>`(select id from (select rowid as id from ${indexed} where ${indexed} match ${args.match} limit ${args.limit})
            union select id from search_pending where kind = ${sql.lit(table)})`
    return db.selectFrom(found.as("found")).select("id").limit(args.limit)
  },

  /** How many rows of a list each block of IDs holds: block by block, which needs no sorting. */
  listBlocks: (build: Build, args: ListArgs, shape: ListShape & { table: ResourceTable }) => {
    const id = column(shape.table, "id")
    const first = sql`versions.block * ${sql.lit(blockSize)}`
    const within = sql`${id} between ${first} and ${first} + ${sql.lit(blockSize - 1)}`
    const n = sql<number>`(select count(*) from ${sql.table(shape.table)} where ${within} and ${matches(build, args, shape)})`
    return build.db
      .selectFrom(sql<{ block: number }>`block_versions`.as("versions"))
      .select(["block", n.as("n")])
      .where(sql<boolean>`kind = ${sql.lit(shape.table)}`)
  },

  /** The version of each block of a table; it grows with each change of a row in it. */
  blockVersions: ({ db }: Build, _: object, table: ResourceTable) =>
    db
      .selectFrom(sql<{ block: number; version: number }>`block_versions`.as("versions"))
      .select(["block", "version"])
      .where(sql<boolean>`kind = ${sql.lit(table)}`),

  /** Rows whose texts the index of SQLite does not hold yet. */
  searchPending: ({ db }: Build, args: { limit: number }) =>
    db.selectFrom(sql<{ kind: string; id: number }>`search_pending`.as("pending")).select(["kind", "id"]).limit(args.limit),

  removeIndexed: (build: Build, args: { ids: readonly number[] }, table: ResourceTable) =>
    build.db.deleteFrom(`${table}_search` as never).where(build.among(sql.ref("rowid"), args.ids)),

  addIndexed: (build: Build, args: { ids: readonly number[] }, table: ResourceTable) =>
    build.db
      .insertInto(`${table}_search` as never)
      .columns(["rowid", "search"] as never)
      .expression(
        build.db
          .selectFrom(table as "images")
          .select(["id", "search"])
          .where(build.among(sql.ref("id"), args.ids)) as never,
      ),

  removePending: (build: Build, args: { ids: readonly number[] }, table: ResourceTable) =>
    build.db
      .deleteFrom("search_pending" as never)
      .where(sql<boolean>`kind = ${sql.lit(table)}`)
      .where(build.among(sql.ref("id"), args.ids)),
}
