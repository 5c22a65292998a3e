import { dataResource, grantResource, imageResource, loadAllGrants, projectResource, type Resource, runResource } from "#access"
import { runStateNames } from "#contract"
import { type Store, unrestrictedViewer } from "#store"

/** Loads resources of one type by ID, with all grants in force. */
function loader<Row>(
  type: "image" | "data" | "project",
  getMany: (store: Store, ids: readonly number[]) => Promise<Row[]>,
  toResource: (row: Row) => Resource,
) {
  return async (store: Store, ids: readonly number[]): Promise<Resource[]> => {
    if (ids.length === 0) return []
    // `map` also passes an index, which must not become the grants.
    return loadAllGrants(
      store,
      type,
      (await getMany(store, ids)).map((row) => toResource(row)),
    )
  }
}

export const loadImageResources = loader("image", ({ images }, ids) => images.getMany(ids), imageResource)
export const loadDataResources = loader("data", ({ data }, ids) => data.getMany(ids), dataResource)
export const loadProjectResources = loader("project", ({ projects }, ids) => projects.getMany(ids), projectResource)

export async function loadGrantResources({ grants }: Store, ids: readonly number[]): Promise<Resource[]> {
  const rows = await Promise.all(ids.map((id) => grants.get(id)))
  return rows.filter((row) => row !== undefined).map(grantResource)
}

export async function loadRunResources(store: Store, ids: readonly number[]): Promise<Resource[]> {
  if (ids.length === 0) return []
  const { runs, projects } = store
  const { rows } = await runs.list({ ids, states: runStateNames }, unrestrictedViewer, { page: 1, pageSize: ids.length })
  const owners = new Map((await projects.getMany([...new Set(rows.map((row) => row.projectId))])).map((row) => [row.id, row.userId]))
  return loadAllGrants(
    store,
    "run",
    rows.map((row) => runResource(row, owners.get(row.projectId))),
  )
}
