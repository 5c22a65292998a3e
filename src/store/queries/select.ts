import { type AliasedRawBuilder, type RawBuilder, sql } from "kysely"
import { columns, countedColumns, longColumns, type RowTable } from "../tables/columns.ts"
import type { Build } from "./build.ts"

/** A column of a table, qualified. */
export function column<T = unknown>(table: string, name: string): RawBuilder<T> {
  return sql<T>`${sql.ref(`${table}.${name}`)}`
}

/** The columns that make a row, in the order of `columns`; for SELECT and RETURNING alike. */
export function rowColumns(table: RowTable): AliasedRawBuilder<unknown, string>[] {
  return columns[table].map((name) => (lookedUp(table, name) ?? column(table, name)).as(name))
}

/**
 * As `rowColumns`, with null in place of each text that is too long for a list, and the bytes of
 * all texts as the last column. Tables without long texts have no such column.
 */
export function outlineColumns(table: RowTable, { withDoc = true } = {}): AliasedRawBuilder<unknown, string>[] {
  const long = longColumns[table]
  if (long === undefined) return rowColumns(table)
  const bytesOf = (name: string) => sql<number>`coalesce(octet_length(${column(table, name)}), 0)`
  const names: readonly string[] = columns[table]
  const counted = names.filter((name) => (name in long && name !== "spec" && (withDoc || name !== "doc")) || isCounted(name))
  const cut = rowColumns(table).map((whole, i) => {
    const name = names[i] as string
    if (name === "doc" && !withDoc) return sql`''`.as(name)
    const most = long[name]
    const at = column(table, name)
    return most === undefined ? whole : sql`case when octet_length(${at}) <= ${sql.lit(most)} then ${at} end`.as(name)
  })
  return [...cut, sql`${sql.join(counted.map(bytesOf), sql` + `)}`.as("bytes")]
}

const isCounted = (name: string) => (countedColumns as readonly string[]).includes(name)

/** Rows as they stand inside other things: without `doc`. */
export function partColumns(table: RowTable): AliasedRawBuilder<unknown, string>[] {
  return rowColumns(table).map((whole, i) => (columns[table][i] === "doc" ? sql`''`.as("doc") : whole))
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

/**
 * Rows that match, sorted, from one index. PostgreSQL would fetch the rows that it skips, too, so
 * there the IDs are found first.
 */
export function pageOf({ db, dialect }: Build, { table, descending }: { table: RowTable; descending: boolean }, window: Window) {
  const direction = descending ? "desc" : "asc"
  const sorted = <T extends { orderBy(by: RawBuilder<unknown>, direction: "asc" | "desc"): T }>(rows: T) => {
    const first = rows.orderBy(column(table, window.by), direction)
    return window.by === "id" ? first : first.orderBy(column(table, "id"), direction)
  }
  const from = () => db.selectFrom(table as "images")
  const matches = sql<boolean>`${window.matches}`
  if (dialect === "sqlite")
    return sorted(from().select(outlineColumns(table)).where(matches))
      .limit(window.limit)
      .offset(window.offset)
  const ids = sorted(from().select("id").where(matches)).limit(window.limit).offset(window.offset)
  return sorted(from().select(outlineColumns(table)).where("id", "in", ids))
}
