import { authorizeWithGrants, projectResource } from "#access"
import type { Project } from "#contract"
import { copyProject, needsRelease, releaseCode } from "#projects"
import type { ProjectRow } from "#store"
import type { Context, HandlerResult, Handlers } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { requireId, respondWithETag, update } from "./owned-resource.ts"
import { projects } from "./projects.ts"

async function updateProject(context: Context<"updateProject">): Promise<HandlerResult<"updateProject">> {
  const { services, body } = context
  const { IsPublic: isPublic, GroupName: groupName } = body.only("IsPublic", "GroupName")
  if (isPublic || groupName) {
    const stored = await services.store.projects.get(body.ID)
    const isReleased = await needsRelease(services.store, context.caller, { stored, isPublic, groupName })
    if (stored && isReleased) return updateWithRelease(context, stored)
  }
  return update(projects, context)
}

/**
 * Releases the code, and then changes the project. The caller's `If-Match` names the project as it
 * was before the release ended the trust in it.
 */
async function updateWithRelease(context: Context<"updateProject">, stored: ProjectRow): Promise<Project> {
  const match = context.header("if-match")
  checkIfMatch(match, stored)
  const released = await releaseCode(context.services, context, { stored, signal: context.signal })
  if (released === stored) return update(projects, context)
  return update(untrusted, context, match === undefined ? undefined : etagOf(released))
}

/** A caller who sends `IsTrusted` back as they read it does not try to set it. */
const untrusted: typeof projects = {
  ...projects,
  async change(tx, context, { row, given }) {
    return { ...(await projects.change(tx, context, { row: { ...row, isTrusted: true }, given })), isTrusted: false }
  },
}

async function releaseProject(context: Context<"releaseProject">): Promise<HandlerResult<"releaseProject">> {
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
  return respondWithETag(projects, context, project ?? released)
}

async function copy(context: Context<"copyProject">): Promise<HandlerResult<"copyProject">> {
  const projectId = requireId(context)
  const row = await copyProject(context.services, context, { projectId, objectLimits: context.server.objectLimits, signal: context.signal })
  return respondWithETag(projects, context, row)
}

export const projectUpdateHandlers = {
  updateProject,
  copyProject: copy,
  releaseProject,
} satisfies Partial<Handlers>
