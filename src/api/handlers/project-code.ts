import { projectResource } from "#access"
import { bodyId, type Project, parseBody, projectFields } from "#contract"
import type { ProjectRow } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
import { checkMatch, etagOf } from "../http/etag.ts"
import { copyCode, release } from "./code.ts"
import { projects } from "./projects.ts"
import { needId, oneAnswer, update } from "./resource.ts"
import { authorizeWithGrants, isAllowed } from "./rules.ts"
import { endTrust, originOf } from "./trust.ts"

const publishing = { IsPublic: projectFields.IsPublic, GroupName: projectFields.GroupName }

/**
 * What is published, to everybody or to a group, is released first: nobody starts it before its
 * code is there.
 */
async function change(services: Services, context: Context): Promise<Project> {
  const { IsPublic, GroupName } = parseBody(publishing, context.body)
  if (IsPublic || GroupName) {
    const stored = await services.store.projects.get(bodyId(context.body))
    const isNews = stored && ((IsPublic && !stored.isPublic) || (GroupName && GroupName !== stored.groupName))
    const may = await isAllowed(services.store, context.caller, "project:release", stored && projectResource(stored))
    if (stored && isNews && may) return changeReleased(services, context, stored)
  }
  return update(projects, services, context)
}

/**
 * A change with a release before it. What the caller sent fits the project as it was before the
 * release ended the trust in it.
 */
async function changeReleased(services: Services, context: Context, stored: ProjectRow): Promise<Project> {
  const match = context.header("if-match")
  checkMatch(match, stored)
  const released = await releaseUntrusted(services, context, stored)
  if (released === stored) return update(projects, services, context)
  return update(untrusted, services, context, match === undefined ? undefined : etagOf(released))
}

/** A mark that the caller sends back as they read it is no try to set it. */
const untrusted: typeof projects = {
  ...projects,
  async change(services, tx, context, row) {
    return { ...(await projects.change(services, tx, context, { ...row, isTrusted: true })), isTrusted: false }
  },
}

/**
 * New code is not what an administrator looked at: the trust ends before anybody can get it, also
 * where the code then turns out to be too much to be released.
 */
async function releaseUntrusted(services: Services, context: Context, stored: ProjectRow): Promise<ProjectRow> {
  const ends = stored.isTrusted && !context.caller.isAdmin
  const project = ends
    ? await services.store.change((tx) => endTrust(services, tx, context, { was: stored, by: "released new code" }))
    : stored
  await release(services.tree, project, context.signal)
  return project
}

async function releaseNow(services: Services, context: Context): Promise<Project> {
  const id = needId(context)
  const stored = await services.store.projects.get(id)
  await authorizeWithGrants(services.store, context.caller, "project:release", {
    resource: stored && projectResource(stored),
    what: "project",
  })
  const project = await releaseUntrusted(services, context, stored as ProjectRow)
  await services.store.change((tx) =>
    services.events.changed(tx, context.actor, { verb: "updated", resource: { type: "project", id: project.id } }),
  )
  return oneAnswer(projects, services, context, project)
}

/**
 * The copy is a deleted project until its code is there, and nobody is told of it before: whoever
 * dies or gives up in between leaves nothing that could be seen or started. Its references stay as
 * they are, those included that the copier may not see; what was decided about the original alone
 * (publication, group, trust) does not come along.
 */
async function copy(services: Services, context: Context): Promise<Project> {
  const { caller } = context
  const id = needId(context)
  const { from, to } = await services.store.change(async (tx) => {
    const stored = await tx.projects.get(id)
    await authorizeWithGrants(tx, caller, "project:copy", { resource: stored && projectResource(stored), what: "project" })
    await context.server.objects.demand(tx, caller, caller.userId)
    const from = stored as ProjectRow
    const { projectName, type, comment, doc, imageId, userPath, codePath, modelPath } = from
    const to = await tx.projects.insert({
      ...{ projectName, type, comment, doc, imageId, userPath, codePath, modelPath },
      writtenBy: await originOf(tx, from, caller.userId),
      ...{ userId: caller.userId, groupId: 0, isPublic: false, isTrusted: false },
    })
    await tx.projects.setLinks(to.id, await tx.projects.links([id]))
    await tx.projects.setDeleted(to.id, true)
    return { from, to }
  })
  await copyCode(services.tree, caller.userName, { from, to, signal: context.signal })
  const whole = await services.store.change(async (tx) => {
    await context.server.objects.demand(tx, caller, caller.userId, { isRestored: true })
    const row = (await tx.projects.setDeleted(to.id, false)) ?? to
    await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "project", id: to.id } })
    return row
  })
  return oneAnswer(projects, services, context, whole)
}

export const projectCodeHandlers = {
  updateProject: (services, context) => change(services, context as Context),
  copyProject: (services, context) => copy(services, context as Context),
  releaseProject: (services, context) => releaseNow(services, context as Context),
} satisfies Partial<Handlers>
