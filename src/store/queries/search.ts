import { sql } from "kysely"
import type { ResourceTable } from "../tables/index.ts"
import { blockSize } from "./block-size.ts"
import { type ListArgs, type ListShape, listCondition } from "./lists.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { column } from "./select.ts"

export interface CandidatesArgs {
  /** For SQLite: an expression of FTS5. */
  match?: string
  /** For PostgreSQL: a pattern of LIKE. */
  pattern?: string
  limit: number
}

const markOf = (table: ResourceTable) => sql`(select search_marks.id from search_marks where kind = ${sql.lit(table)})`

/** Searches by words. */
export const searchQueries = {
  /**
   * At most `limit` IDs of rows that may contain the words, by an index of trigrams. A superset:
   * the caller compares the `search` column.
   */
  searchCandidates: ({ db, dialect }: QueryBuilder, args: CandidatesArgs, table: ResourceTable) => {
    const indexed = sql.ref(`${table}_search`)
    const found =
      dialect === "postgres"
        ? sql<{ id: number }>`(select id from ${sql.table(table)} where search like ${args.pattern})`
        : sql<{ id: number }>`(select id from (select rowid as id from ${indexed} where ${indexed} match ${args.match} limit ${args.limit})
            union select id from search_pending where kind = ${sql.lit(table)}
            union select id from (select id from ${sql.table(table)} where id > ${markOf(table)} order by id limit ${args.limit}))`
    return db.selectFrom(found.as("found")).select("id").limit(args.limit)
  },

  /** The number of a list's rows in each of some blocks; counting by block needs no sort. */
  listBlocks: (build: QueryBuilder, args: ListArgs & { blocks: readonly number[] }, shape: ListShape & { table: ResourceTable }) => {
    const first = sql`blocks.id * ${sql.lit(blockSize)}`
    const within = sql`${column(shape.table, "id")} between ${first} and ${first} + ${sql.lit(blockSize - 1)}`
    const n = sql<number>`(select count(*) from ${sql.table(shape.table)} where ${within} and ${listCondition(build, args, shape)})`
    return build.db.selectFrom(sql<{ id: number }>`(${build.numbers(args.blocks)})`.as("blocks")).select(["id", n.as("n")])
  },

  /** The versions of all blocks with changed rows; each change increments one. */
  blockVersions: ({ db }: QueryBuilder, _: object, table: ResourceTable) =>
    db.selectFrom("block_versions").select(["block", "version"]).where("kind", "=", sql.lit(table)),

  /** Changed rows that SQLite's full-text index does not contain yet, with their characters. */
  changedTexts: ({ db }: QueryBuilder, args: { limit: number }, table: ResourceTable) =>
    db
      .selectFrom("search_pending")
      .select([
        "id",
        sql<number>`(select length(search) from ${sql.table(table)} where ${column(table, "id")} = search_pending.id)`.as("n"),
      ])
      .where("kind", "=", sql.lit(table))
      .limit(args.limit),

  /** The same for new rows, oldest first. */
  newTexts: ({ anyTable }: QueryBuilder, args: { limit: number }, table: ResourceTable) =>
    anyTable
      .selectFrom(table)
      .select(["id", sql<number>`length(search)`.as("n")])
      .where(sql<boolean>`id > ${markOf(table)}`)
      .orderBy("id")
      .limit(args.limit),

  markIndexed: ({ db }: QueryBuilder, args: { id: number }, table: ResourceTable) =>
    db.updateTable("search_marks").set({ id: args.id }).where("kind", "=", sql.lit(table)),

  removeIndexed: (build: QueryBuilder, args: { ids: readonly number[] }, table: ResourceTable) =>
    build.anyTable.deleteFrom(`${table}_search`).where(build.among(sql.ref("rowid"), args.ids)),

  addIndexed: (build: QueryBuilder, args: { ids: readonly number[] }, table: ResourceTable) =>
    build.anyTable
      .insertInto(`${table}_search`)
      .columns(["rowid", "search"])
      .expression(
        build.anyTable
          .selectFrom(table)
          .select(["id", "search"])
          .where(build.among(sql.ref("id"), args.ids)),
      ),

  removePending: (build: QueryBuilder, args: { ids: readonly number[] }, table: ResourceTable) =>
    build.db
      .deleteFrom("search_pending")
      .where("kind", "=", sql.lit(table))
      .where(build.among(sql.ref("id"), args.ids)),
}
