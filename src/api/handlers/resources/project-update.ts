import { type Action, authorizeWithGrants, type Caller, notFound, projectResource } from "#access"
import type { Project } from "#contract"
import { copyProject, needsRelease, type Requester, releaseCode, runWhileAllowed } from "#projects"
import type { ProjectRow } from "#store"
import type { HandlerContext, HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { refreshCaller } from "../../refresh-caller.ts"
import { requireId, respondWithETag, updateResource } from "./owned-resource.ts"
import { projectDefinition } from "./projects.ts"

/** A change that releases code waits for the person's other copies. */
async function updateProject(context: OperationContext<"updateProject">): Promise<HandlerResult<"updateProject">> {
  const { server, caller } = context
  if (!(await findToRelease(context))) return updateResource(projectDefinition, context)
  return server.projectCopies.run(caller.userId, async () => {
    // It may have waited for minutes.
    await refreshCaller(context)
    const stored = await findToRelease(context)
    return stored ? updateWithRelease(context, stored) : updateResource(projectDefinition, context)
  })
}

/** The project, if the change publishes it and its caller may release its code. */
async function findToRelease(context: OperationContext<"updateProject">): Promise<ProjectRow | undefined> {
  const { services, body, caller } = context
  const { IsPublic: isPublic, GroupName: groupName } = body.checkOnly("IsPublic", "GroupName")
  if (!isPublic && !groupName) return undefined
  const stored = await services.store.projects.get(body.ID)
  return (await needsRelease(services.store, caller, { stored, isPublic, groupName })) ? stored : undefined
}

/**
 * Releases the code, and then changes the project. The caller's `If-Match` names the project as it
 * was before the release ended the trust in it.
 */
async function updateWithRelease(context: OperationContext<"updateProject">, stored: ProjectRow): Promise<Project> {
  const match = context.header("if-match")
  checkIfMatch(match, stored)
  const released = await releaseUntilRevoked(context, stored)
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
  const { services, server, caller } = context
  const id = requireId(context)
  const load = async (as: Caller) => {
    const stored = await services.store.projects.get(id)
    const resource = stored && projectResource(stored)
    await authorizeWithGrants(services.store, as, "project:release", { resource, what: "project" })
    return stored as ProjectRow
  }
  await load(caller)
  const project = await server.projectCopies.run(caller.userId, async () => {
    // It may have waited for minutes.
    const stored = await load(await refreshCaller(context))
    const released = await releaseUntilRevoked(context, stored)
    return services.store.change(async (tx) => {
      await services.events.changed(tx, context.actor, { verb: "updated", resource: { type: "project", id } })
      return (await tx.projects.get(id)) ?? released
    })
  })
  return respondWithETag(projectDefinition, context, project)
}

async function copy(context: OperationContext<"copyProject">): Promise<HandlerResult<"copyProject">> {
  const { services, server, caller } = context
  const projectId = requireId(context)
  const row = await server.projectCopies.run(caller.userId, () =>
    copyUntilRevoked(context, { action: "project:copy", id: projectId }, ({ signal, ...requester }) =>
      copyProject(services, requester, { projectId, objectLimits: server.objectLimits, signal }),
    ),
  )
  return respondWithETag(projectDefinition, context, row)
}

async function releaseUntilRevoked(context: CopyContext, stored: ProjectRow): Promise<ProjectRow> {
  return copyUntilRevoked(context, { action: "project:release", id: stored.id }, ({ signal, ...requester }) =>
    releaseCode(context.services, requester, { stored, signal }),
  )
}

interface CopyContext extends Pick<HandlerContext, "services" | "actor" | "signal"> {
  readonly caller: Caller
}

/** The copy may wait and take minutes, and ends within 5 s after its caller lost the right. */
async function copyUntilRevoked(
  context: CopyContext,
  { action, id }: { action: Action; id: number },
  work: (requester: Requester & { signal: AbortSignal }) => Promise<ProjectRow>,
): Promise<ProjectRow> {
  const { services, actor, signal } = context
  const caller = await refreshCaller(context)
  const resource = async () => {
    const project = await services.store.projects.part(id)
    return project && projectResource(project)
  }
  const onRevoked = () => notFound("project")
  const run = (allowed: AbortSignal) => work({ caller, actor, signal: allowed })
  return runWhileAllowed(services, { caller, signal }, { action, resource, onRevoked, work: run })
}

export const projectUpdateHandlers = {
  updateProject,
  copyProject: copy,
  releaseProject,
} satisfies Partial<Handlers>
