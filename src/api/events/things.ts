import { dataThing, imageThing, projectThing, runThing, type Thing } from "#access"
import { runStateNames } from "#contract"
import type { Store } from "#store"

const everything = { userId: 0, groupIds: [], everything: true }

export async function imageThings({ images }: Store, ids: readonly number[]): Promise<Thing[]> {
  return ids.length === 0 ? [] : (await images.getMany(ids)).map((row) => imageThing(row))
}

export async function dataThings({ data }: Store, ids: readonly number[]): Promise<Thing[]> {
  return ids.length === 0 ? [] : (await data.getMany(ids)).map((row) => dataThing(row))
}

export async function projectThings({ projects }: Store, ids: readonly number[]): Promise<Thing[]> {
  return ids.length === 0 ? [] : (await projects.getMany(ids)).map((row) => projectThing(row))
}

export async function runThings({ runs, projects }: Store, ids: readonly number[]): Promise<Thing[]> {
  if (ids.length === 0) return []
  const { rows } = await runs.list({ ids, states: runStateNames }, everything, { page: 1, pageSize: ids.length })
  const owners = new Map((await projects.getMany([...new Set(rows.map((row) => row.projectId))])).map((row) => [row.id, row.userId]))
  return rows.map((row) => runThing(row, owners.get(row.projectId)))
}
