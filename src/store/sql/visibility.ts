import { type RawBuilder, sql } from "kysely"
import type { RowTable } from "./columns.ts"
import { column } from "./select.ts"

/** Who looks, as the arguments of a query name it. */
export interface SeenBy {
  user_id: number
  group_ids?: readonly number[]
}

/** The classes of live rows that somebody sees who does not see everything: a row is seen when it is in one of them. */
export function sees(table: RowTable, viewer: { user_id: number }, ofGroups?: RawBuilder<boolean>): RawBuilder<boolean>[] {
  const own = sql<boolean>`${column(table, "user_id")} = ${viewer.user_id}`
  if (table === "runs") return [own, sql<boolean>`${column(table, "owner_id")} = ${viewer.user_id}`]
  const published = sql<boolean>`${column(table, "is_published")} = ${sql.lit(1)}`
  return ofGroups ? [published, own, ofGroups] : [published, own]
}
