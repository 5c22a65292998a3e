import { type AliasedRawBuilder, type RawBuilder, sql } from "kysely"
import type { Build } from "./build.ts"
import { columns, type RowTable } from "./columns.ts"

/** A column of a table, qualified. */
export function column<T = unknown>(table: string, name: string): RawBuilder<T> {
  return sql<T>`${sql.ref(`${table}.${name}`)}`
}

/** The columns that make a row, in the order of `columns`; for SELECT and RETURNING alike. */
export function rowColumns(table: RowTable): AliasedRawBuilder<unknown, string>[] {
  return columns[table].map((name) => (lookedUp(table, name) ?? column(table, name)).as(name))
}

/** Grants are few and read in pages: names, which never change, are looked up. */
function lookedUp(table: RowTable, name: string): RawBuilder<unknown> | undefined {
  if (table !== "grants") return undefined
  if (name === "user_name") return sql`coalesce((select users.user_name from users where users.id = grants.user_id), '')`
  if (name === "group_name") return sql`coalesce((select groups.group_name from groups where groups.id = grants.group_id), '')`
  return undefined
}

export interface Window {
  matches: RawBuilder<unknown>
  /** The column to sort by; rows that agree in it are sorted by ID. */
  by: string
  limit: number
  offset: number
}

/** Rows that match, sorted, from one index. PostgreSQL would fetch the rows that it skips, too, so there the IDs are found first. */
export function pageOf({ db, dialect }: Build, { table, descending }: { table: RowTable; descending: boolean }, window: Window) {
  const direction = descending ? "desc" : "asc"
  const sorted = <T extends { orderBy(by: RawBuilder<unknown>, direction: "asc" | "desc"): T }>(rows: T) => {
    const first = rows.orderBy(column(table, window.by), direction)
    return window.by === "id" ? first : first.orderBy(column(table, "id"), direction)
  }
  const from = () => db.selectFrom(table as "images")
  const matches = sql<boolean>`${window.matches}`
  if (dialect === "sqlite")
    return sorted(from().select(rowColumns(table)).where(matches))
      .limit(window.limit)
      .offset(window.offset)
  const ids = sorted(from().select("id").where(matches)).limit(window.limit).offset(window.offset)
  return sorted(from().select(rowColumns(table)).where("id", "in", ids))
}
