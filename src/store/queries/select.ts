import { type AliasedRawBuilder, type RawBuilder, sql } from "kysely"
import type { Column } from "../tables/column.ts"
import { type TableName, tables } from "../tables/index.ts"
import type { QueryBuilder } from "./query-builder.ts"

type Selected = AliasedRawBuilder<unknown, string>[]

/** A qualified column of a table. */
export function column<T = unknown>(table: string, name: string): RawBuilder<T> {
  return sql<T>`${sql.ref(`${table}.${name}`)}`
}

function columnsOf(table: TableName): readonly Column[] {
  return Object.values(tables[table].fields)
}

/** The columns of a complete row, in the order of the table's mapper; for SELECT and RETURNING. */
export function rowColumns(table: TableName): Selected {
  return columnsOf(table).map((each) => wholeColumn(table, each))
}

/** Some of these columns, for a mapper of some fields. */
export function pickColumns(table: TableName, { columns }: { columns: readonly string[] }): Selected {
  return columns.map((name) => column(table, name).as(name))
}

function wholeColumn(table: TableName, { name, isJoined }: Column): AliasedRawBuilder<unknown, string> {
  return (isJoined ? joinedName(table, name) : column(table, name)).as(name)
}

/** The name of a person or group that the row does not copy; such tables are small. */
function joinedName(table: TableName, name: string): RawBuilder<unknown> {
  const [source, id] = name === "user_name" ? ["users", "user_id"] : ["groups", "group_id"]
  return sql`coalesce((select ${column(source, name)} from ${sql.table(source)} where ${column(source, "id")} = ${column(table, id)}), '')`
}

/**
 * Like `rowColumns`, with null instead of each text that is too long for a list, and the size of
 * all texts as the last column. Tables without long texts lack that column.
 */
export function summaryColumns(table: TableName, { withDoc = true } = {}): Selected {
  const columns = columnsOf(table)
  if (!columns.some(({ maxListedBytes }) => maxListedBytes !== undefined)) return rowColumns(table)
  const counted = columns.filter(
    ({ countsBytes, maxListedBytes, isOmittedInParts }) => (countsBytes ?? maxListedBytes !== undefined) && (withDoc || !isOmittedInParts),
  )
  const cut = columns.map((each) => {
    const { name, maxListedBytes, isOmittedInParts } = each
    if (isOmittedInParts && !withDoc) return sql`''`.as(name)
    const at = column(table, name)
    return maxListedBytes === undefined
      ? wholeColumn(table, each)
      : sql`case when octet_length(${at}) <= ${sql.lit(maxListedBytes)} then ${at} end`.as(name)
  })
  return [...cut, bytesOf(table, counted).as("bytes")]
}

/** The bytes of those texts of a row that lists may leave out. The texts are not read. */
export function longTextBytes(table: TableName): RawBuilder<number> {
  return bytesOf(
    table,
    columnsOf(table).filter(({ maxListedBytes }) => maxListedBytes !== undefined),
  )
}

function bytesOf(table: TableName, columns: readonly Column[]): RawBuilder<number> {
  const each = columns.map(({ name }) => sql`coalesce(octet_length(${column(table, name)}), 0)`)
  return sql<number>`${sql.join(each, sql` + `)}`
}

/** The columns of rows inside other resources: without `doc`. */
export function partColumns(table: TableName): Selected {
  return columnsOf(table).map((each) => (each.isOmittedInParts ? sql`''`.as(each.name) : wholeColumn(table, each)))
}

export interface PageWindow {
  matches: RawBuilder<unknown>
  /** The column to sort by; rows with equal values are sorted by ID. */
  by: string
  limit: number
  offset: number
}

/**
 * Rows that match, sorted, from one index. PostgreSQL would also fetch the skipped rows, so there
 * it first selects the IDs.
 */
export function pageQuery(
  { anyTable, dialect }: QueryBuilder,
  { table, descending }: { table: TableName; descending: boolean },
  window: PageWindow,
) {
  const direction = descending ? "desc" : "asc"
  const sorted = <T extends { orderBy(by: RawBuilder<unknown>, direction: "asc" | "desc"): T }>(rows: T) => {
    const first = rows.orderBy(column(table, window.by), direction)
    return window.by === "id" ? first : first.orderBy(column(table, "id"), direction)
  }
  const from = () => anyTable.selectFrom(table)
  const matches = sql<boolean>`${window.matches}`
  if (dialect === "sqlite")
    return sorted(from().select(summaryColumns(table)).where(matches))
      .limit(window.limit)
      .offset(window.offset)
  const ids = sorted(from().select("id").where(matches)).limit(window.limit).offset(window.offset)
  return sorted(from().select(summaryColumns(table)).where("id", "in", ids))
}
