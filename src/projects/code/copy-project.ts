import { authorizeWithGrants, projectResource } from "#access"
import { longTextBytes, type ProjectRow, tables } from "#store"
import type { ProjectsContext, Requester } from "../context.ts"
import type { ObjectLimits } from "../object-limits.ts"
import { writerAfterTransfer } from "../trust.ts"
import { copyCodeIfMissing, projectDirectories, releaseDirectory } from "./directories.ts"

interface CopyRequest {
  projectId: number
  objectLimits: ObjectLimits
  signal: AbortSignal
}

/**
 * Copies a project for the caller. The copy is a deleted project, and no event is published, until
 * its code is there. A process that dies, or a caller who gives up, in between leaves nothing that
 * could be seen or started. The copy keeps all fields and references, even references to resources
 * that the copier may not see. Publication, group and trust were decided for the original alone and
 * are not copied.
 */
export async function copyProject(
  { store, tree, events }: Pick<ProjectsContext, "store" | "tree" | "events">,
  { caller, actor }: Requester,
  { projectId, objectLimits, signal }: CopyRequest,
): Promise<ProjectRow> {
  const { from, to } = await store.change(async (tx) => {
    const stored = await tx.projects.get(projectId)
    await authorizeWithGrants(tx, caller, "project:copy", { resource: stored && projectResource(stored), what: "project" })
    const from = stored as ProjectRow
    await objectLimits.checkRoom(tx, caller, caller.userId, { textBytes: longTextBytes(tables.projects, from) })
    const writtenBy = await writerAfterTransfer(tx, from, caller.userId)
    const to = await tx.projects.insert({ ...from, writtenBy, userId: caller.userId, groupId: 0, isPublic: false, isTrusted: false })
    await tx.projects.setLinks(to.id, await tx.projects.links([projectId]))
    await tx.projects.setDeleted(to.id, true)
    return { from, to }
  })
  const target = projectDirectories(caller.userName, to.id).code
  await copyCodeIfMissing(tree, { from: sourceOf(caller.userName, from), to: target }, { account: caller.userName, signal })
  return store.change(async (tx) => {
    await objectLimits.checkRoom(tx, caller, caller.userId, { isRestored: true })
    const row = (await tx.projects.setDeleted(to.id, false)) ?? to
    await events.changed(tx, actor, { verb: "created", resource: { type: "project", id: to.id } })
    return row
  })
}

/** The code that the copier could start: their own, or what the owner released. */
function sourceOf(userName: string, project: ProjectRow): string {
  return userName === project.userName ? projectDirectories(userName, project.id).code : releaseDirectory(project.id)
}
