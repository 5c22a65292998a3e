import { type RawBuilder, sql } from "kysely"
import type { Build } from "./build.ts"
import type { ListedTable } from "./lists.ts"
import { column, pageOf, rowColumns } from "./select.ts"
import { type Stream, streamConditions } from "./visibility.ts"

export interface StreamsShape {
  table: ListedTable
  streams: readonly Stream[]
  /** How many groups `group` stands for. */
  groups?: number
  /** Rows with the IDs `granted`, which are in none of the streams, too. */
  granted?: true
}
export interface StreamsArgs {
  /** Of whom the streams are. */
  user?: number
  granted?: readonly number[]
  [group: `group${number}`]: number
}

export interface CountedArgs {
  key?: string
  other?: string
  keys?: readonly string[]
}

export interface SeekArgs extends StreamsArgs {
  /** IDs between which the page and what is skipped before it lie. */
  low: number
  high: number
  offset: number
  limit: number
  /** `offset` and `limit` together. */
  reach: number
}
export interface SeekShape extends StreamsShape {
  descending: boolean
}

/** Lists that are unions of streams: totals from counters, pages merged from as many rows of each stream as can matter. */
export const streams = {
  /** What the counters of these keys come to: of one or two by themselves, of any number as a list. */
  counted: ({ db, among }: Build, args: CountedArgs, keys: "one" | "two" | "list") => {
    const key = sql.ref<string>("key")
    const which = { one: sql`${key} = ${args.key}`, two: sql`${key} in (${args.key}, ${args.other})`, list: among(key, args.keys ?? []) }
    return db
      .selectFrom("counters")
      .select(sql<number>`cast(coalesce(sum(n), 0) as bigint)`.as("n"))
      .where("block", "=", sql<number>`-1`)
      .where(which[keys] as RawBuilder<boolean>)
  },

  /** Block by block, highest first. */
  blocks: ({ db, among }: Build, args: { plus: readonly string[]; minus: readonly string[] }) => {
    const counts = (keys: readonly string[], n: RawBuilder<number>) =>
      db
        .selectFrom("counters")
        .select(["block", n.as("n")])
        .where(among(sql.ref("key"), keys))
        .where("block", ">=", sql.lit(0))
    return db
      .selectFrom(counts(args.plus, sql<number>`n`).unionAll(counts(args.minus, sql<number>`-n`)).as("counts"))
      .select(["block", sql<number>`cast(sum(n) as bigint)`.as("n")])
      .groupBy("block")
      .orderBy("block", "desc")
  },

  seek: (build: Build, args: SeekArgs, shape: SeekShape) => {
    const direction = shape.descending ? sql`desc` : sql`asc`
    const within = sql`id between ${args.low} and ${args.high}`
    const conditions = conditionsOf(args, shape)
    const [only, ...others] = conditions
    if (only && others.length === 0 && !shape.granted) {
      return pageOf(build, shape, { matches: sql`${only} and ${within}`, by: "id", limit: args.limit, offset: args.offset })
    }
    const each = conditions.map(
      (condition, i) =>
        sql`select id from (select id from ${sql.table(shape.table)} where ${condition} and ${within} order by id ${direction} limit ${args.reach}) as ${sql.ref(`s${i}`)}`,
    )
    const ids = sql`select id from (${union(build, each, { args, shape })}) as seen order by id ${direction} limit ${args.limit} offset ${args.offset}`
    return build.db
      .selectFrom(shape.table as "images")
      .select(rowColumns(shape.table))
      .where(sql<boolean>`${column(shape.table, "id")} in (${ids})`)
      .orderBy(column(shape.table, "id"), shape.descending ? "desc" : "asc")
  },

  /** For readers who see few rows: all of them, sorted. */
  gather: (build: Build, args: StreamsArgs & { limit: number; offset: number }, shape: SeekShape & { by: string }) => {
    const each = conditionsOf(args, shape).map((condition) => sql`select id from ${sql.table(shape.table)} where ${condition}`)
    const direction = shape.descending ? "desc" : "asc"
    return build.db
      .selectFrom(shape.table as "images")
      .select(rowColumns(shape.table))
      .where(sql<boolean>`${column(shape.table, "id")} in (${union(build, each, { args, shape })})`)
      .orderBy(column(shape.table, shape.by), direction)
      .orderBy(column(shape.table, "id"), direction)
      .limit(args.limit)
      .offset(args.offset)
  },
}

/** Only rows of groups may stand in another stream, too. */
function union(
  build: Build,
  each: readonly RawBuilder<unknown>[],
  { args, shape }: { args: StreamsArgs; shape: StreamsShape },
): RawBuilder<unknown> {
  const all = shape.granted ? [...each, build.numbers(args.granted ?? [])] : each
  return sql.join(all, (shape.groups ?? 0) > 0 ? sql` union ` : sql` union all `)
}

function conditionsOf(args: StreamsArgs, { streams, groups = 0 }: StreamsShape): RawBuilder<unknown>[] {
  return streams.flatMap((name) => {
    const condition = sql.raw(streamConditions[name])
    if (name === "group") return Array.from({ length: groups }, (_, i) => sql`${condition}${args[`group${i}`]}`)
    return streamConditions[name].endsWith(" = ") ? [sql`${condition}${args.user}`] : [condition]
  })
}
