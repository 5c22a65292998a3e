import { dataResource, grantResource, imageResource, loadAllGrants, projectResource, type Resource, runResource } from "#access"
import { runStateNames } from "#contract"
import { type Store, unrestrictedViewer } from "#store"

export async function loadImageResources(store: Store, ids: readonly number[]): Promise<Resource[]> {
  if (ids.length === 0) return []
  const rows = await store.images.getMany(ids)
  return loadAllGrants(
    store,
    "image",
    rows.map((row) => imageResource(row)),
  )
}

export async function loadDataResources(store: Store, ids: readonly number[]): Promise<Resource[]> {
  if (ids.length === 0) return []
  const rows = await store.data.getMany(ids)
  return loadAllGrants(
    store,
    "data",
    rows.map((row) => dataResource(row)),
  )
}

export async function loadProjectResources(store: Store, ids: readonly number[]): Promise<Resource[]> {
  if (ids.length === 0) return []
  const rows = await store.projects.getMany(ids)
  return loadAllGrants(
    store,
    "project",
    rows.map((row) => projectResource(row)),
  )
}

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
