import { authorize, authorizeWithGrants, newResource, projectResource } from "#access"
import type { Project, projectFields } from "#contract"
import {
  authorshipAfterChange,
  checkDatasetLinks,
  checkTrustChange,
  publicationWarnings,
  publishRunVisibility,
  publishTrustEnd,
  renewTrustedDigestOfProject,
  resolveGroup,
  resolveImage,
  resolveNewOwner,
  resolveOwner,
  trustAfterPublication,
  updateDatasetLinks,
  writerAfterTransfer,
} from "#projects"
import { changesFromBody, fieldsFromBody, longTextBytes, type ProjectRow, tables, valuesByApiName } from "#store"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { toProjectResponses, toProjectSummaries } from "../../responses/resources.ts"
import { fieldColumnsOf } from "./find-one.ts"
import { listResources, type ResourceDefinition, readResource, removeResource, respondToWrite, restoreResource } from "./owned-resource.ts"

export const projectDefinition: ResourceDefinition<ProjectRow, Project, typeof projectFields> = {
  type: "project",
  label: "project",
  published: "isPublic",
  name: "projectName",
  table: tables.projects,
  columns: fieldColumnsOf(tables.projects),
  reads: (reads) => reads.projects,
  writes: (tx) => tx.projects,
  resource: (row) => projectResource(row),
  toResponses: ({ services, caller }, rows) => toProjectResponses(services.store, caller, rows),
  toSummaries: ({ services, caller }, found) => toProjectSummaries(services.store, caller, found),
  stored: (row) => valuesByApiName(tables.projects, row),
  warnings: ({ services, caller }, row) => publicationWarnings(services.store, caller, row),
  async change(tx, { services, caller }, { row, given }) {
    checkTrustChange(caller, given.IsTrusted, row.isTrusted)
    const publishes = given.IsPublic !== undefined && given.IsPublic !== row.isPublic
    const regroups = given.GroupName !== undefined && given.GroupName !== row.groupName
    const resource = projectResource(row)
    if (publishes || regroups) await authorizeWithGrants(tx, caller, "project:publish", { resource, what: "project" })
    const owner = await resolveNewOwner(tx, caller, { resource, userName: row.userName, given: given.UserName })
    const group = regroups ? await resolveGroup(tx, caller, given.GroupName as string) : undefined
    const imageId = await resolveImage(tx, caller, { given, stored: row.imageId })
    const fields = {
      ...changesFromBody(tables.projects, given),
      ...(owner ? { userId: owner.id } : {}),
      ...(group ? { groupId: group.id } : {}),
      imageId,
    }
    if (owner) await publishRunVisibility(services.events, tx, { projectId: row.id, people: [row.userId, owner.id] })
    const now = { ...row, ...fields }
    const linksChanged = await updateDatasetLinks(tx, caller, { project: now, wanted: given.TrainData })
    const changesRun =
      linksChanged || (["imageId", "type", "userPath", "codePath", "modelPath"] as const).some((name) => now[name] !== row[name])
    return {
      ...fields,
      ...(owner ? { writtenBy: await writerAfterTransfer(tx, row, owner.id) } : {}),
      ...(changesRun ? await authorshipAfterChange(tx, caller, { ...row, userId: now.userId }) : {}),
      ...(publishes || regroups ? trustAfterPublication(caller) : {}),
    }
  },
  async changed(tx, context, { was, now }) {
    await renewTrustedDigestOfProject(tx, { was, now })
    await publishTrustEnd(context.services, tx, context, { type: "project", was, now, by: "changed what it runs, or who may start it" })
  },
}

async function createProject(context: OperationContext<"createProject">): Promise<HandlerResult<"createProject">> {
  const { services, caller, body: values } = context
  checkTrustChange(caller, values.IsTrusted, false)
  const row = await services.store.change(async (tx) => {
    const owner = await resolveOwner(tx, caller, values.UserName)
    authorize(caller, "project:create", { resource: newResource("project", owner.id), what: "project" })
    const group = await resolveGroup(tx, caller, values.GroupName)
    const imageId = await resolveImage(tx, caller, { given: values, stored: undefined })
    const given = fieldsFromBody(tables.projects, values)
    const fields = { ...given, userId: owner.id, groupId: group.id, imageId, writtenBy: caller.userId }
    await context.server.objectLimits.checkRoom(tx, caller, owner.id, { textBytes: longTextBytes(tables.projects, fields) })
    const links = await checkDatasetLinks(tx, caller, { project: fields, stored: [], wanted: values.TrainData })
    const made = await tx.projects.insert(fields)
    await renewTrustedDigestOfProject(tx, { now: made })
    await tx.projects.setLinks(made.id, links)
    await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "project", id: made.id } })
    return made
  })
  return respondToWrite(projectDefinition, context, row)
}

export const projectHandlers = {
  createProject,
  deleteProject: (context) => removeResource(projectDefinition, context),
  restoreProject: (context) => restoreResource(projectDefinition, context),
  readProject: (context) => readResource(projectDefinition, context),
  listProjects: (context) => listResources(projectDefinition, context),
} satisfies Partial<Handlers>
