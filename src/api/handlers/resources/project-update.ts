import { authorizeWithGrants, projectResource } from "#access"
import type { Project } from "#contract"
import { copyProject, needsRelease, releaseCode } from "#projects"
import type { ProjectRow } from "#store"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { requireId, respondWithETag, updateResource } from "./owned-resource.ts"
import { projectDefinition } from "./projects.ts"

async function updateProject(context: OperationContext<"updateProject">): Promise<HandlerResult<"updateProject">> {
  const { services, body } = context
  const { IsPublic: isPublic, GroupName: groupName } = body.only("IsPublic", "GroupName")
  if (isPublic || groupName) {
    const stored = await services.store.projects.get(body.ID)
    const isReleased = await needsRelease(services.store, context.caller, { stored, isPublic, groupName })
    if (stored && isReleased) return updateWithRelease(context, stored)
  }
  return updateResource(projectDefinition, context)
}

/**
 * Releases the code, and then changes the project. The caller's `If-Match` names the project as it
 * was before the release ended the trust in it.
 */
async function updateWithRelease(context: OperationContext<"updateProject">, stored: ProjectRow): Promise<Project> {
  const match = context.header("if-match")
  checkIfMatch(match, stored)
  const released = await releaseCode(context.services, context, { stored, signal: context.signal })
  if (released === stored) return updateResource(projectDefinition, context)
  return updateResource(untrusted, context, match === undefined ? undefined : etagOf(released))
}

/** A caller who sends `IsTrusted` back as they read it does not try to set it. */
const untrusted: typeof projectDefinition = {
  ...projectDefinition,
  async change(tx, context, { row, given }) {
    return { ...(await projectDefinition.change(tx, context, { row: { ...row, isTrusted: true }, given })), isTrusted: false }
  },
}

async function releaseProject(context: OperationContext<"releaseProject">): Promise<HandlerResult<"releaseProject">> {
  const { services } = context
  const id = requireId(context)
  const stored = await services.store.projects.get(id)
  await authorizeWithGrants(services.store, context.caller, "project:release", {
    resource: stored && projectResource(stored),
    what: "project",
  })
  const released = await releaseCode(services, context, { stored: stored as ProjectRow, signal: context.signal })
  const project = await services.store.change(async (tx) => {
    await services.events.changed(tx, context.actor, { verb: "updated", resource: { type: "project", id } })
    return tx.projects.get(id)
  })
  return respondWithETag(projectDefinition, context, project ?? released)
}

async function copy(context: OperationContext<"copyProject">): Promise<HandlerResult<"copyProject">> {
  const projectId = requireId(context)
  const row = await copyProject(context.services, context, { projectId, objectLimits: context.server.objectLimits, signal: context.signal })
  return respondWithETag(projectDefinition, context, row)
}

export const projectUpdateHandlers = {
  updateProject,
  copyProject: copy,
  releaseProject,
} satisfies Partial<Handlers>
