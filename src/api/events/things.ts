import { dataThing, grantThing, imageThing, projectThing, runThing, type Thing, withAllGrants } from "#access"
import { runStateNames } from "#contract"
import type { Store } from "#store"

const everything = { userId: 0, groupIds: [], everything: true }

export async function imageThings(store: Store, ids: readonly number[]): Promise<Thing[]> {
  if (ids.length === 0) return []
  const rows = await store.images.getMany(ids)
  return withAllGrants(
    store,
    "image",
    rows.map((row) => imageThing(row)),
  )
}

export async function dataThings(store: Store, ids: readonly number[]): Promise<Thing[]> {
  if (ids.length === 0) return []
  const rows = await store.data.getMany(ids)
  return withAllGrants(
    store,
    "data",
    rows.map((row) => dataThing(row)),
  )
}

export async function projectThings(store: Store, ids: readonly number[]): Promise<Thing[]> {
  if (ids.length === 0) return []
  const rows = await store.projects.getMany(ids)
  return withAllGrants(
    store,
    "project",
    rows.map((row) => projectThing(row)),
  )
}

export async function grantThings({ grants }: Store, ids: readonly number[]): Promise<Thing[]> {
  const rows = await Promise.all(ids.map((id) => grants.get(id)))
  return rows.filter((row) => row !== undefined).map(grantThing)
}

export async function runThings(store: Store, ids: readonly number[]): Promise<Thing[]> {
  if (ids.length === 0) return []
  const { runs, projects } = store
  const { rows } = await runs.list({ ids, states: runStateNames }, everything, { page: 1, pageSize: ids.length })
  const owners = new Map((await projects.getMany([...new Set(rows.map((row) => row.projectId))])).map((row) => [row.id, row.userId]))
  return withAllGrants(
    store,
    "run",
    rows.map((row) => runThing(row, owners.get(row.projectId))),
  )
}
