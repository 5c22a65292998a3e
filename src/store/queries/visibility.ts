import { type RawBuilder, type SqlBool, sql } from "kysely"
import type { ListedTable } from "../tables/index.ts"
import { column } from "./select.ts"

/** Who looks, as the arguments of a query name it. */
export interface ViewerArgs {
  user_id: number
}

/**
 * The classes of live rows that somebody sees who does not see everything: a row is seen when it is
 * in one of them, or was granted (`granted` in `grants.ts` finds those that are in none of them).
 */
export function visibilityClasses(table: ListedTable, viewer: ViewerArgs, isOfGroups?: RawBuilder<SqlBool>): RawBuilder<SqlBool>[] {
  const own = sql<SqlBool>`${column(table, "user_id")} = ${viewer.user_id}`
  if (table === "runs") return [own, sql<SqlBool>`${column(table, "owner_id")} = ${viewer.user_id}`]
  const published = sql<SqlBool>`${column(table, "is_published")} = ${sql.lit(1)}`
  return isOfGroups ? [published, own, isOfGroups] : [published, own]
}

/**
 * The same classes cut into slices: sets of rows that one index holds in the order of IDs. Word
 * for word as in these indexes. `group` stands for as many slices as the viewer has groups.
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
