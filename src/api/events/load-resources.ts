import { dataResource, grantResource, imageResource, loadAllGrants, projectResource, type Resource, runResource } from "#access"
import { runStateNames } from "#contract"
import { type Store, unrestrictedViewer } from "#store"

/**
 * Loads resources of one type by ID, with all grants in force. Of each row only what the policy
 * reads: a page of events may be about hundreds of resources.
 */
function loader<Row>(
  type: "image" | "data" | "project",
  readsOf: (store: Store) => { rights(ids: readonly number[]): Promise<Row[]> },
  toResource: (row: Row) => Resource,
) {
  return async (store: Store, ids: readonly number[]): Promise<Resource[]> => {
    if (ids.length === 0) return []
    const rows = await readsOf(store).rights(ids)
    // `map` also passes an index, which must not become the grants.
    return loadAllGrants(
      store,
      type,
      rows.map((row) => toResource(row)),
    )
  }
}

export const loadImageResources = loader("image", ({ images }) => images, imageResource)
export const loadDataResources = loader("data", ({ data }) => data, dataResource)
export const loadProjectResources = loader("project", ({ projects }) => projects, projectResource)

export async function loadGrantResources({ grants }: Store, ids: readonly number[]): Promise<Resource[]> {
  const rows = await Promise.all(ids.map((id) => grants.get(id)))
  return rows.filter((row) => row !== undefined).map(grantResource)
}

export async function loadRunResources(store: Store, ids: readonly number[]): Promise<Resource[]> {
  if (ids.length === 0) return []
  const { runs, projects } = store
  const { rows } = await runs.list({ ids, states: runStateNames }, unrestrictedViewer, { page: 1, pageSize: ids.length })
  const found = await projects.rights([...new Set(rows.map((row) => row.projectId))])
  const owners = new Map(found.map((row) => [row.id, row.userId]))
  return loadAllGrants(
    store,
    "run",
    rows.map((row) => runResource(row, owners.get(row.projectId))),
  )
}
