import type { Value } from "../driver.ts"
import type { Outlines } from "../rows.ts"
import { columns, longColumns, type RowTable } from "../tables/columns.ts"

interface Mapper<Row> {
  table: RowTable
  toRow(values: readonly Value[]): Row
}

/** What stands in place of a text that was left out, by its position in a row. */
const placeholders = new Map(
  (Object.entries(longColumns) as [RowTable, object][]).map(([table, long]) => [
    table,
    Object.keys(long).map((name) => ({ at: (columns[table] as readonly string[]).indexOf(name), text: name === "spec" ? "{}" : "" })),
  ]),
)

/** Rows from the columns of `outlineColumns`. */
export function outlinesOf<Row>({ table, toRow }: Mapper<Row>, found: readonly Value[][]): Outlines<Row> {
  const long = placeholders.get(table)
  if (long === undefined) return { rows: found.map(toRow) }
  let isCut = false
  for (const values of found) {
    for (const { at, text } of long) {
      if (values[at] !== null) continue
      values[at] = text
      if (text === "") isCut = true
    }
  }
  return { rows: found.map(toRow), bytes: found.map((values) => values.at(-1) as number), isCut }
}
