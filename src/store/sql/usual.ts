import { type Query, query } from "./catalog.ts"
import { resourceTables } from "./columns.ts"
import { families } from "./families.ts"
import type { ListShape } from "./lists.ts"

/** The queries that come compiled: those without a shape, the reads and writes of every table, and the lists that people ask for without searching. */
export function usualQueries(): Query[] {
  const plain = Object.entries(families).filter(([, family]) => family.length === 2)
  return [
    ...plain.map(([name]) => ({ name, key: name, shape: undefined }) as Query),
    ...[...resourceTables, "users", "groups"].flatMap((table) => ofRows(table as "images")),
    ...(["tokens", "runs"] as const).map((table) => query("get", table)),
    query("visibleBetween", "all"),
    query("visibleBetween", "some"),
    query("auditPage", {}),
    query("auditTotal", {}),
    ...usualLists().flatMap(ofList),
  ] as Query[]
}

const ofRows = (table: "images") => [
  query("get", table),
  query("getMany", table),
  query("insert", table),
  query("update", table),
  query("setDeleted", table),
]

const ofList = (shape: ListShape) => [
  query("total", shape),
  query("page", { ...shape, by: "id", descending: true }),
  query("page", { ...shape, by: "id", descending: false }),
]

function usualLists(): ListShape[] {
  const shapes: ListShape[] = []
  for (const sees of ["all", "visible"] as const) {
    for (const table of resourceTables) {
      shapes.push({ table, part: "live", sees })
      for (const where of [["user_id"], ["is_published"], ["is_published", "user_id"]]) shapes.push({ table, part: "live", sees, where })
    }
    for (const part of ["live", "history"] as const) {
      shapes.push(
        { table: "runs", part, sees },
        { table: "runs", part, sees, where: ["user_id"] },
        { table: "runs", part, sees, where: ["project_id"] },
      )
    }
  }
  for (const table of ["users", "groups"] as const) shapes.push({ table, part: "live", sees: "all" })
  return [...shapes, { table: "groups", part: "live", sees: "all", member: true }]
}
