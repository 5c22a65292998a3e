import { type AliasedRawBuilder, type RawBuilder, sql } from "kysely"
import { columns, type RowTable } from "./columns.ts"

/** A column of a table, qualified: names repeat in the subqueries that look up a name. */
export function column<T = unknown>(table: string, name: string): RawBuilder<T> {
  return sql<T>`${sql.ref(`${table}.${name}`)}`
}

/** The columns that make a row, in the order of `columns`; for SELECT and RETURNING alike. */
export function rowColumns(table: RowTable): AliasedRawBuilder<unknown, string>[] {
  return columns[table].map((name) => (lookedUp(table, name) ?? column(table, name)).as(name))
}

/** Rows refer to people and groups by ID; names, which never change, are looked up. */
function lookedUp(table: RowTable, name: string): RawBuilder<unknown> | undefined {
  if (table !== "users" && name === "user_name") {
    return sql`(select users.user_name from users where users.id = ${column(table, "user_id")})`
  }
  if (table === "projects" && name === "group_name") {
    return sql`coalesce((select groups.group_name from groups where groups.id = projects.group_id), '')`
  }
  return undefined
}
