import { runStateNames } from "#contract"
import type { Events } from "#events"
import { type Change, unrestrictedViewer } from "#store"

/** If more resources change than this, clients must read everything again. */
const maxPublished = 200
const firstPage = { page: 1, pageSize: maxPublished }

/** Publishes to the former and the new owner of a project that they see its runs differently. */
export async function publishRunVisibility(
  events: Events,
  tx: Change,
  { projectId, people }: { projectId: number; people: readonly number[] },
): Promise<void> {
  const { rows, total } = await tx.runs.list({ where: { projectId }, states: runStateNames }, unrestrictedViewer, firstPage)
  if (total > rows.length) return events.everythingChanged(tx, people)
  await events.visibilityChanged(tx, { resources: rows.map(({ id }) => ({ type: "run", id }) as const), people })
}

/** Publishes to people who joined or left a group that they see its resources, or no longer do. */
export async function publishMemberVisibility(
  events: Events,
  tx: Change,
  { groupId, people }: { groupId: number; people: readonly number[] },
): Promise<void> {
  if (people.length === 0) return
  const projects = await tx.projects.list({ where: { groupId } }, unrestrictedViewer, firstPage)
  const granted = await tx.grants.list({ where: { groupId } }, unrestrictedViewer, firstPage)
  if (projects.total + granted.total > maxPublished) return events.everythingChanged(tx, people)
  const resources = [
    ...projects.rows.map(({ id }) => ({ type: "project", id }) as const),
    ...granted.rows.map(({ resourceType, resourceId }) => ({ type: resourceType, id: resourceId })),
  ]
  await events.visibilityChanged(tx, { resources, people })
}
