import { authorizeWithGrants, isAllowed, projectResource } from "#access"
import type { Project } from "#contract"
import { copyProject, releaseCode } from "#projects"
import type { ProjectRow } from "#store"
import type { Context, Handlers, Result } from "../../context.ts"
import { checkMatch, etagOf } from "../../http/etag.ts"
import { requireId, respondWithOne, update } from "./owned-resource.ts"
import { projects } from "./projects.ts"

/**
 * A project that is published, to everybody or to a group, is released first: nobody starts it
 * before its code is there.
 */
async function updateProject(context: Context<"updateProject">): Promise<Result<"updateProject">> {
  const { services, body } = context
  const { IsPublic, GroupName } = body.only("IsPublic", "GroupName")
  if (IsPublic || GroupName) {
    const stored = await services.store.projects.get(body.ID)
    const isNews = stored && ((IsPublic && !stored.isPublic) || (GroupName && GroupName !== stored.groupName))
    const may = await isAllowed(services.store, context.caller, "project:release", stored && projectResource(stored))
    if (stored && isNews && may) return changeReleased(context, stored)
  }
  return update(projects, context)
}

/**
 * A change with a release before it. The caller's `If-Match` names the project as it was before the
 * release ended the trust in it.
 */
async function changeReleased(context: Context<"updateProject">, stored: ProjectRow): Promise<Project> {
  const match = context.header("if-match")
  checkMatch(match, stored)
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

async function releaseProject(context: Context<"releaseProject">): Promise<Result<"releaseProject">> {
  const { services } = context
  const id = requireId(context)
  const stored = await services.store.projects.get(id)
  await authorizeWithGrants(services.store, context.caller, "project:release", {
    resource: stored && projectResource(stored),
    what: "project",
  })
  const project = await releaseCode(services, context, { stored: stored as ProjectRow, signal: context.signal })
  await services.store.change((tx) =>
    services.events.changed(tx, context.actor, { verb: "updated", resource: { type: "project", id: project.id } }),
  )
  return respondWithOne(projects, context, project)
}

async function copy(context: Context<"copyProject">): Promise<Result<"copyProject">> {
  const projectId = requireId(context)
  const row = await copyProject(context.services, context, { projectId, objectLimits: context.server.objectLimits, signal: context.signal })
  return respondWithOne(projects, context, row)
}

export const projectUpdateHandlers = {
  updateProject,
  copyProject: copy,
  releaseProject,
} satisfies Partial<Handlers>
