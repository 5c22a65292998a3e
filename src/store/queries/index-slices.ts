import { type RawBuilder, sql } from "kysely"
import type { ListedTable } from "../tables/index.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { column, pageQuery, summaryColumns } from "./select.ts"
import { type IndexSlice, sliceConditions } from "./visibility.ts"

export interface SlicesShape {
  table: ListedTable
  slices: readonly IndexSlice[]
  /** Also rows with the IDs `granted`, which are in none of the slices. */
  granted?: true
}
export interface SlicesArgs {
  /** The person of the slices. */
  user?: number
  /** The groups of the slices. */
  groups?: readonly number[]
  granted?: readonly number[]
}

export interface CounterArgs {
  key?: string
  other?: string
  keys?: readonly string[]
}

export interface BlockCountArgs {
  plus: readonly string[]
  minus: readonly string[]
  /** Blocks, from 0. */
  low: number
  high: number
}

export interface SeekArgs extends SlicesArgs {
  /** The IDs that contain the page and the skipped rows before it. */
  low: number
  high: number
  offset: number
  limit: number
  /** `offset` plus `limit`. */
  reach: number
}
export interface SeekShape extends SlicesShape {
  descending: boolean
}

/**
 * Lists as unions of slices. Counters give totals; a page merges only as many rows of each slice as
 * it can need.
 */
export const sliceQueries = {
  /** The sum of the counters with these keys. */
  sumCounters: ({ db, among }: QueryBuilder, args: CounterArgs, keys: "one" | "two" | "list") => {
    const key = sql.ref<string>("key")
    const which = { one: sql`${key} = ${args.key}`, two: sql`${key} in (${args.key}, ${args.other})`, list: among(key, args.keys ?? []) }
    return db
      .selectFrom("counters")
      .select(sql<number>`cast(coalesce(sum(n), 0) as bigint)`.as("n"))
      .where("block", "=", sql<number>`-1`)
      .where(which[keys] as RawBuilder<boolean>)
  },

  /** The highest ID of a table, 0 of an empty one. */
  newest: ({ anyTable }: QueryBuilder, _args: object, { table }: { table: ListedTable }) =>
    anyTable.selectFrom(table).select(sql<number>`coalesce(max(id), 0)`.as("id")),

  /** The counts of a range of blocks, highest first. */
  blocks: ({ db, among }: QueryBuilder, args: BlockCountArgs) => {
    const counts = (keys: readonly string[], n: RawBuilder<number>) =>
      db
        .selectFrom("counters")
        .select(["block", n.as("n")])
        .where(among(sql.ref("key"), keys))
        .where("block", ">=", args.low)
        .where("block", "<=", args.high)
    return db
      .selectFrom(counts(args.plus, sql<number>`n`).unionAll(counts(args.minus, sql<number>`-n`)).as("counts"))
      .select(["block", sql<number>`cast(sum(n) as bigint)`.as("n")])
      .groupBy("block")
      .orderBy("block", "desc")
  },

  seek: (build: QueryBuilder, args: SeekArgs, shape: SeekShape) => {
    const direction = shape.descending ? sql`desc` : sql`asc`
    const within = sql`id between ${args.low} and ${args.high}`
    const [only, ...others] = shape.slices
    if (only && only !== "group" && others.length === 0 && !shape.granted) {
      const matches = sql`${conditionOf(only, args)} and ${within}`
      return pageQuery(build, shape, { matches, by: "id", limit: args.limit, offset: args.offset })
    }
    const first = (condition: RawBuilder<unknown>) =>
      sql`select id from ${sql.table(shape.table)} where ${condition} and ${within} order by id ${direction} limit ${args.reach}`
    const each = shape.slices.map((slice, i) =>
      slice === "group"
        ? build.forEach(args.groups ?? [], (group) => first(sql`${sql.raw(sliceConditions.group)}${group}`))
        : sql`select id from (${first(conditionOf(slice, args))}) as ${sql.ref(`s${i}`)}`,
    )
    const once = shape.slices.includes("group") ? sql`group by id` : sql``
    const ids = sql`select id from (${union(build, each, { args, shape })}) as seen ${once} order by id ${direction} limit ${args.limit} offset ${args.offset}`
    return build.anyTable
      .selectFrom(shape.table)
      .select(summaryColumns(shape.table))
      .where(sql<boolean>`${column(shape.table, "id")} in (${ids})`)
      .orderBy(column(shape.table, "id"), shape.descending ? "desc" : "asc")
  },

  /** For viewers who see few rows: reads and sorts all of them. */
  sortedUnion: (build: QueryBuilder, args: SlicesArgs & { limit: number; offset: number }, shape: SeekShape & { by: string }) => {
    const isOfGroups = sql`is_published = 0 and deleted_at is null and group_id <> 0 and ${build.among(sql.ref("group_id"), args.groups ?? [])}`
    const each = shape.slices.map(
      (slice) => sql`select id from ${sql.table(shape.table)} where ${slice === "group" ? isOfGroups : conditionOf(slice, args)}`,
    )
    const direction = shape.descending ? "desc" : "asc"
    return build.anyTable
      .selectFrom(shape.table)
      .select(summaryColumns(shape.table))
      .where(sql<boolean>`${column(shape.table, "id")} in (${union(build, each, { args, shape })})`)
      .orderBy(column(shape.table, shape.by), direction)
      .orderBy(column(shape.table, "id"), direction)
      .limit(args.limit)
      .offset(args.offset)
  },
}

/** Removes duplicates: a viewer's own row may also belong to a group. */
function union(
  build: QueryBuilder,
  each: readonly RawBuilder<unknown>[],
  { args, shape }: { args: SlicesArgs; shape: SlicesShape },
): RawBuilder<unknown> {
  return sql.join(shape.granted ? [...each, build.numbers(args.granted ?? [])] : each, sql` union all `)
}

function conditionOf(slice: Exclude<IndexSlice, "group">, { user }: SlicesArgs): RawBuilder<unknown> {
  const condition = sliceConditions[slice]
  return condition.endsWith(" = ") ? sql`${sql.raw(condition)}${user}` : sql.raw(condition)
}
