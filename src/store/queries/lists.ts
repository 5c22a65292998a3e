import { type RawBuilder, type SqlBool, sql } from "kysely"
import type { ListedTable } from "../tables/index.ts"
import { grantVisibility, groupsCondition, inForceCondition } from "./grants.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { endedCondition, liveCondition } from "./runs.ts"
import { column, pageQuery } from "./select.ts"
import { visibilityClasses } from "./visibility.ts"

/** Everything about a list that changes the text of its query. */
export interface ListShape {
  table: ListedTable
  /**
   * Columns that must equal the arguments `=column`, in alphabetical order; `column null` stands
   * for null.
   */
  where?: readonly string[]
  ids?: true
  words?: true
  /** IDs from `low` to `high`, both included. */
  between?: true
  /** Groups of which a person is a member. */
  member?: true
  /**
   * Live or deleted rows. For runs: live ones, ended ones, or those in the states of an argument.
   */
  subset: "live" | "deleted" | "ended" | "states"
  /** `visible`: rows in the viewer's visibility classes; `own`: the viewer's rows. */
  sees: "all" | "visible" | "own"
  /** Rows with the IDs `granted` are visible as well. */
  granted?: true
}
export interface PageShape extends ListShape {
  by: string
  descending: boolean
}

export interface ListArgs {
  ids?: readonly number[]
  words?: readonly string[]
  low?: number
  high?: number
  member?: number
  states?: readonly string[]
  viewer?: number
  groups?: readonly number[]
  granted?: readonly number[]
  /** The time at which grants must be in force. */
  now?: number
  /** Values of `where`. */
  [column: `=${string}`]: string | number | boolean
}
export interface PageArgs extends ListArgs {
  limit: number
  offset: number
}

/** Lists with any filter, found and counted by a scan of the rows that an index leaves. */
export const listQueries = {
  page: (build: QueryBuilder, args: PageArgs, shape: PageShape) =>
    pageQuery(build, shape, { matches: listCondition(build, args, shape), by: shape.by, limit: args.limit, offset: args.offset }),

  total: (build: QueryBuilder, args: ListArgs, shape: ListShape) =>
    build.anyTable
      .selectFrom(shape.table)
      .select(sql<number>`count(*)`.as("count"))
      .where(listCondition(build, args, shape)),
}

export function listCondition(build: QueryBuilder, args: ListArgs, shape: ListShape): RawBuilder<SqlBool> {
  const at = (name: string) => column<string>(shape.table, name)
  const all: unknown[] = [subsetCondition(build, args, shape)]
  for (const name of shape.where ?? []) {
    if (name.endsWith(" null")) all.push(sql`${at(name.slice(0, -5))} is null`)
    else all.push(sql`${at(name)} = ${args[`=${name}`]}`)
  }
  if (shape.ids) all.push(build.among(at("id"), args.ids ?? []))
  if (shape.between) all.push(sql`${at("id")} between ${args.low} and ${args.high}`)
  if (shape.words) all.push(build.holdsAll(at("search"), args.words ?? []))
  if (shape.member)
    all.push(sql`groups.id in (select group_members.group_id from group_members where group_members.user_id = ${args.member})`)
  if (shape.sees !== "all") all.push(sql`(${sql.join(seenBy(build, args, shape), sql` or `)})`)
  return sql<SqlBool>`${sql.join(all, sql` and `)}`
}

function seenBy(build: QueryBuilder, args: ListArgs, shape: ListShape): RawBuilder<SqlBool>[] {
  const viewer = { user_id: args.viewer as number }
  if (shape.table === "grants") return [grantVisibility(build, { ...viewer, groups: args.groups ?? [] })]
  if (shape.sees === "own") return [sql`${column(shape.table, "user_id")} = ${viewer.user_id}`]
  const classes = visibilityClasses(shape.table, viewer, groupsCondition(build, shape.table, args.groups ?? []))
  return shape.granted ? [...classes, sql`${build.among(column(shape.table, "id"), args.granted ?? [])}`] : classes
}

function subsetCondition({ among }: QueryBuilder, args: ListArgs, shape: ListShape): unknown {
  switch (shape.subset) {
    case "live":
      if (shape.table === "grants") return sql`is_live = 1 and ${inForceCondition(args.now as number)}`
      return shape.table === "runs" ? liveCondition : sql`${column(shape.table, "deleted_at")} is null`
    case "deleted":
      return sql`${column(shape.table, "deleted_at")} is not null`
    case "ended":
      return endedCondition
    case "states":
      return among(column("runs", "state"), args.states ?? [])
  }
}
