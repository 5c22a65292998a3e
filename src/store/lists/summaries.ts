import type { RowSummaries } from "../rows.ts"
import type { RowTable } from "../tables/table.ts"
import type { ColumnValue } from "../values.ts"

/** Makes rows from the columns of `summaryColumns`. */
export function toSummaries<Row>(table: Pick<RowTable<Row>, "fields" | "toRow">, found: readonly ColumnValue[][]): RowSummaries<Row> {
  const columns = Object.values(table.fields)
  const long = columns.flatMap(({ maxListedBytes, codec }, i) => (maxListedBytes === undefined ? [] : [{ i, codec }]))
  if (long.length === 0) return { rows: found.map(table.toRow) }
  let isTruncated = false
  for (const values of found) {
    for (const { i, codec } of long) {
      if (values[i] !== null) continue
      values[i] = codec === "json" ? "{}" : ""
      if (codec !== "json") isTruncated = true
    }
  }
  return { rows: found.map(table.toRow), bytes: found.map((values) => values[columns.length] as number), isTruncated }
}
