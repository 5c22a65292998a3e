import { type Query, query } from "./catalog.ts"
import { resourceTables } from "./columns.ts"
import { families } from "./families.ts"
import type { ListShape } from "./lists.ts"
import type { StreamsShape } from "./streams.ts"

/**
 * The queries that come compiled: those without a shape, the reads and writes of every table, and
 * the lists that people ask for without searching.
 */
export function usualQueries(): Query[] {
  const plain = Object.entries(families).filter(([, family]) => family.length === 2)
  return [
    ...plain.map(([name]) => ({ name, key: name, shape: undefined }) as Query),
    ...[...resourceTables, "users", "groups"].flatMap((table) => ofRows(table as "images")),
    ...(["tokens", "runs"] as const).map((table) => query("get", table)),
    ...resourceTables.map((table) => query("granted", { table, part: "live" })),
    ...(["live", "history"] as const).map((part) => query("granted", { table: "runs", part })),
    ...resourceTables.flatMap((table) => [
      query("outlines", { table, part: false }),
      query("outlines", { table, part: true }),
      query("parts", { table }),
    ]),
    query("visibleBetween", "all"),
    query("visibleBetween", "some"),
    ...(["one", "two", "list"] as const).map((keys) => query("counted", keys)),
    ...([...resourceTables, "runs"] as const).map((table) => query("newest", { table })),
    query("auditPage", {}),
    query("auditTotal", {}),
    ...scannedLists().flatMap(ofList),
    ...resourceTables.flatMap(ofSearches),
    ...plannedLists().flatMap((shape) => [query("seek", { ...shape, descending: true }), query("seek", { ...shape, descending: false })]),
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

/** Searches by words, and what keeps their index. */
function ofSearches(table: (typeof resourceTables)[number]): Query[] {
  const kept = (
    ["holders", "blockVersions", "changedTexts", "newTexts", "markIndexed", "removeIndexed", "addIndexed", "removePending"] as const
  ).map((name) => query(name, table))
  const found = (["all", "visible"] as const).flatMap((sees) => {
    const shape = { table, part: "live", sees, words: true } as const
    const between = { ...shape, between: true } as const
    return [query("listBlocks", shape), query("page", { ...between, by: "id", descending: true }), ...ofList({ ...shape, ids: true })]
  })
  return [...kept, ...found] as Query[]
}

function scannedLists(): ListShape[] {
  const shapes: ListShape[] = []
  for (const sees of ["all", "visible"] as const) {
    for (const table of resourceTables) shapes.push({ table, part: "live", sees, words: true })
    shapes.push({ table: "grants", part: "live", sees })
    for (const where of [undefined, ["user_id"], ["project_id"]])
      shapes.push({ table: "runs", part: "live", sees, ...(where ? { where } : {}) })
  }
  for (const table of ["users", "groups"] as const) shapes.push({ table, part: "live", sees: "all" })
  return [...shapes, { table: "groups", part: "live", sees: "all", member: true }]
}

function plannedLists(): StreamsShape[] {
  const resources: StreamsShape["streams"][] = [
    ["live"],
    ["public"],
    ["private"],
    ["publicOf"],
    ["privateOf"],
    ["liveOf"],
    ["public", "privateOf"],
  ]
  const runs: StreamsShape["streams"][] = [["ended"], ["endedOf"], ["endedOf", "endedOwned"]]
  return [
    ...resourceTables.flatMap((table) => resources.map((streams) => ({ table, streams }))),
    { table: "projects", streams: ["public", "privateOf", "group"] },
    ...resourceTables.map((table) => ({ table, streams: ["public", "privateOf"] as const, granted: true as const })),
    { table: "projects", streams: ["public", "privateOf", "group"], granted: true },
    ...runs.map((streams) => ({ table: "runs" as const, streams })),
  ]
}
