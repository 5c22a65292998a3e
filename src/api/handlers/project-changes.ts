import { authorizeWithGrants, isAllowed, projectResource } from "#access"
import { type Project, parseBody, parseBodyId, projectFields } from "#contract"
import { copyProject, releaseCode } from "#projects"
import type { ProjectRow } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
import { checkMatch, etagOf } from "../http/etag.ts"
import { projects } from "./projects.ts"
import { needId, oneAnswer, update } from "./resource.ts"

const publishing = { IsPublic: projectFields.IsPublic, GroupName: projectFields.GroupName }

/**
 * A project that is published, to everybody or to a group, is released first: nobody starts it
 * before its code is there.
 */
async function change(services: Services, context: Context): Promise<Project> {
  const { IsPublic, GroupName } = parseBody(publishing, context.body)
  if (IsPublic || GroupName) {
    const stored = await services.store.projects.get(parseBodyId(context.body))
    const isNews = stored && ((IsPublic && !stored.isPublic) || (GroupName && GroupName !== stored.groupName))
    const may = await isAllowed(services.store, context.caller, "project:release", stored && projectResource(stored))
    if (stored && isNews && may) return changeReleased(services, context, stored)
  }
  return update(projects, services, context)
}

/**
 * A change with a release before it. The caller's `If-Match` names the project as it was before the
 * release ended the trust in it.
 */
async function changeReleased(services: Services, context: Context, stored: ProjectRow): Promise<Project> {
  const match = context.header("if-match")
  checkMatch(match, stored)
  const released = await releaseCode(services, context, { stored, signal: context.signal })
  if (released === stored) return update(projects, services, context)
  return update(untrusted, services, context, match === undefined ? undefined : etagOf(released))
}

/** A caller who sends `IsTrusted` back as they read it does not try to set it. */
const untrusted: typeof projects = {
  ...projects,
  async change(services, tx, context, row) {
    return { ...(await projects.change(services, tx, context, { ...row, isTrusted: true })), isTrusted: false }
  },
}

async function release(services: Services, context: Context): Promise<Project> {
  const id = needId(context)
  const stored = await services.store.projects.get(id)
  await authorizeWithGrants(services.store, context.caller, "project:release", {
    resource: stored && projectResource(stored),
    what: "project",
  })
  const project = await releaseCode(services, context, { stored: stored as ProjectRow, signal: context.signal })
  await services.store.change((tx) =>
    services.events.changed(tx, context.actor, { verb: "updated", resource: { type: "project", id: project.id } }),
  )
  return oneAnswer(projects, services, context, project)
}

async function copy(services: Services, context: Context): Promise<Project> {
  const projectId = needId(context)
  const row = await copyProject(services, context, { projectId, objectLimits: context.server.objectLimits, signal: context.signal })
  return oneAnswer(projects, services, context, row)
}

export const projectCodeHandlers = {
  updateProject: (services, context) => change(services, context as Context),
  copyProject: (services, context) => copy(services, context as Context),
  releaseProject: (services, context) => release(services, context as Context),
} satisfies Partial<Handlers>
