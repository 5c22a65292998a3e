import { type RawBuilder, type SqlBool, sql } from "kysely"
import type { ListedTable } from "../tables/index.ts"
import { column } from "./select.ts"

/** The viewer, as arguments of a query. */
export interface ViewerArgs {
  user_id: number
}

/**
 * The classes of live rows for a viewer who cannot see everything. A row is visible if it is in a
 * class or granted (`granted` in `grants.ts` finds those outside the classes).
 */
export function visibilityClasses(table: ListedTable, viewer: ViewerArgs, isOfGroups?: RawBuilder<SqlBool>): RawBuilder<SqlBool>[] {
  const own = sql<SqlBool>`${column(table, "user_id")} = ${viewer.user_id}`
  if (table === "runs") return [own, sql<SqlBool>`${column(table, "owner_id")} = ${viewer.user_id}`]
  const published = sql<SqlBool>`${column(table, "is_published")} = ${sql.lit(1)}`
  return isOfGroups ? [published, own, isOfGroups] : [published, own]
}

/**
 * The classes as slices: sets of rows that one index contains in the order of IDs. The texts equal
 * those of the indexes. `group` stands for one slice per group of the viewer.
 */
export const sliceConditions = {
  live: "deleted_at is null",
  public: "is_published = 1 and deleted_at is null",
  private: "is_published = 0 and deleted_at is null",
  liveOf: "deleted_at is null and user_id = ",
  publicOf: "is_published = 1 and deleted_at is null and user_id = ",
  privateOf: "is_published = 0 and deleted_at is null and user_id = ",
  group: "is_published = 0 and deleted_at is null and group_id <> 0 and group_id = ",
  ended: "state in ('ended', 'failed')",
  endedOf: "state in ('ended', 'failed') and user_id = ",
  endedOwned: "state in ('ended', 'failed') and owner_id <> user_id and owner_id = ",
} as const
export type IndexSlice = keyof typeof sliceConditions
