import {
  authorize,
  authorizeWithGrants,
  type Caller,
  imageResource,
  isAllowed,
  loadMountModes,
  newResource,
  projectResource,
} from "#access"
import {
  type BodyValues,
  checkPlainText,
  Failure,
  type Project,
  type ProjectDataInput,
  planMounts,
  type projectFields,
  runStateNames,
} from "#contract"
import type { Events } from "#events"
import {
  authorshipAfterChange,
  checkTrustChange,
  invalidReference,
  publishTrustEnd,
  resolveGroup,
  resolveNewOwner,
  resolveOwner,
  trustAfterPublication,
  writerAfterTransfer,
} from "#projects"
import type { Change, DataRow, LinkRow, ProjectRow } from "#store"
import type { Context, Handlers, Result } from "../../context.ts"
import { omitUndefined } from "../../omit-undefined.ts"
import { toProjectOutlines, toProjectResponses } from "../../responses/resources.ts"
import { timeColumn } from "./find-one.ts"
import { list, type ResourceDefinition, read, remove, respondWithOne, restore } from "./owned-resource.ts"

export const projects: ResourceDefinition<ProjectRow, Project, typeof projectFields> = {
  type: "project",
  what: "project",
  published: "isPublic",
  name: "projectName",
  columns: {
    ID: { column: "id" },
    CreatedAt: timeColumn("createdAt"),
    UpdatedAt: timeColumn("updatedAt"),
    DeletedAt: timeColumn("deletedAt"),
    ProjectName: { column: "projectName" },
    UserName: { column: "userName" },
    GroupName: { column: "groupName" },
    Type: { column: "type" },
    Comment: { column: "comment" },
    Doc: { column: "doc" },
    IsPublic: { column: "isPublic" },
    IsTrusted: { column: "isTrusted" },
    ImageID: { column: "imageId" },
    UserPath: { column: "userPath" },
    CodePath: { column: "codePath" },
    ModelPath: { column: "modelPath" },
  },
  reads: (reads) => reads.projects,
  writes: (tx) => tx.projects,
  resource: (row) => projectResource(row),
  answers: ({ services, caller }, rows) => toProjectResponses(services.store, caller, rows),
  draft: ({ services, caller }, found) => toProjectOutlines(services.store, caller, found),
  stored: textsOf,
  async change(tx, { services, caller }, { row, given }) {
    checkTrustChange(caller, given.IsTrusted, row.isTrusted)
    const publishes = given.IsPublic !== undefined && given.IsPublic !== row.isPublic
    const regroups = given.GroupName !== undefined && given.GroupName !== row.groupName
    const resource = projectResource(row)
    if (publishes || regroups) await authorizeWithGrants(tx, caller, "project:publish", { resource, what: "project" })
    const owner = await resolveNewOwner(tx, caller, { resource, userName: row.userName, given: given.UserName })
    const group = regroups ? await resolveGroup(tx, caller, given.GroupName as string) : undefined
    const imageId = await imageOf(tx, caller, { given, stored: row.imageId })
    const fields = {
      ...omitUndefined(columnsOf(given)),
      ...(owner ? { userId: owner.id } : {}),
      ...(group ? { groupId: group.id } : {}),
      imageId,
    }
    if (owner) await publishRunVisibility(services.events, tx, { projectId: row.id, people: [row.userId, owner.id] })
    const now = { ...row, ...fields }
    const moved = await updateDataLinks(tx, caller, { row: now, train: given.TrainData })
    const runsOtherwise =
      moved || (["imageId", "type", "userPath", "codePath", "modelPath"] as const).some((name) => now[name] !== row[name])
    return {
      ...fields,
      ...(owner ? { writtenBy: await writerAfterTransfer(tx, row, owner.id) } : {}),
      ...(runsOtherwise ? await authorshipAfterChange(tx, caller, { ...row, userId: now.userId }) : {}),
      ...(publishes || regroups ? trustAfterPublication(caller) : {}),
    }
  },
  changed: (tx, context, { was, now }) =>
    publishTrustEnd(context.services, tx, context, { type: "project", was, now, by: "changed what it runs, or who may start it" }),
}

const everything = { userId: 0, groupIds: [], everything: true }

/**
 * Whose a project is sees its runs. Where there are many, both are told to read everything again.
 */
async function publishRunVisibility(events: Events, tx: Change, what: { projectId: number; people: readonly number[] }): Promise<void> {
  const { projectId, people } = what
  const filter = { where: { projectId }, states: runStateNames }
  const { rows, total } = await tx.runs.list(filter, everything, { page: 1, pageSize: 200 })
  if (total > rows.length) return events.everythingChanged(tx, people)
  await events.visibilityChanged(tx, { resources: rows.map(({ id }) => ({ type: "run", id }) as const), people })
}

type Given = Partial<BodyValues<typeof projectFields>>

function textsOf({ projectName, comment, doc, userPath, codePath, modelPath }: ProjectRow) {
  return { ProjectName: projectName, Comment: comment, Doc: doc, UserPath: userPath, CodePath: codePath, ModelPath: modelPath }
}

function columnsOf(given: Given) {
  return {
    projectName: given.ProjectName,
    type: given.Type,
    comment: given.Comment,
    doc: given.Doc,
    isPublic: given.IsPublic,
    isTrusted: given.IsTrusted,
    userPath: given.UserPath,
    codePath: given.CodePath,
    modelPath: given.ModelPath,
  }
}

/**
 * The image that a body means, named in `Image` or `ImageID` or both: where they differ, the one
 * that differs from what is stored; 0 says nothing. A new one must be usable by the caller; the
 * stored one is always accepted back.
 */
async function imageOf(
  tx: Pick<Change, "images" | "grants">,
  caller: Caller,
  asked: { given: Given; stored: number | undefined },
): Promise<number> {
  const { stored } = asked
  const whole = asked.given.Image || undefined
  const id = asked.given.ImageID || undefined
  const news = [...new Set([whole, id].filter((each) => each !== undefined && each !== stored))]
  if (news.length > 1)
    throw new Failure("invalid", `Image and ImageID name two images, ${whole} and ${id}; one is meant`, { field: "ImageID" })
  const wanted = news[0] ?? stored
  if (wanted === undefined) throw new Failure("invalid", "Image or ImageID is needed", { field: "Image" })
  if (wanted === stored) return wanted
  const row = await tx.images.get(wanted)
  if (!(await isAllowed(tx, caller, "image:use", row && imageResource(row))))
    throw invalidReference(whole === wanted ? "Image" : "ImageID", "the image", wanted)
  return wanted
}

/**
 * Checks the places of all mounts and, where the body names datasets, stores these. Answers whether
 * others than before are mounted, or elsewhere.
 */
async function updateDataLinks(
  tx: Pick<Change, "data" | "projects" | "grants">,
  caller: Caller,
  asked: { row: ProjectRow; train: ProjectDataInput[] | undefined },
): Promise<boolean> {
  const { row, train } = asked
  const stored = await tx.projects.links([row.id])
  const links = await planLinks(tx, caller, { row, stored, train })
  if (!train) return false
  await tx.projects.setLinks(row.id, links)
  const before = new Map(stored.map((link) => [link.dataId, link.mountPath]))
  return links.length !== stored.length || links.some(({ dataId, mountPath }) => before.get(dataId) !== mountPath)
}

async function planLinks(
  tx: Pick<Change, "data" | "grants">,
  caller: Caller,
  asked: {
    row: Pick<ProjectRow, "userPath" | "codePath" | "modelPath">
    stored: readonly LinkRow[]
    train: readonly ProjectDataInput[] | undefined
  },
): Promise<{ dataId: number; mountPath: string }[]> {
  const { row, stored, train } = asked
  const before = new Map(stored.map((link) => [link.dataId, link.mountPath]))
  const wanted = train ?? stored.map((link) => ({ ID: link.dataId, MountPath: link.mountPath }))
  const rows = new Map((await tx.data.getMany(wanted.map(({ ID }) => ID))).map((each) => [each.id, each]))
  const live = (row: DataRow | undefined) => (row?.deletedAt === null ? row : undefined)
  const news = wanted.flatMap(({ ID }) => (before.has(ID) ? [] : [live(rows.get(ID))]))
  const mounts = await loadMountModes(tx, caller, news)
  const seen = new Set<number>()
  for (const { ID, MountPath = "" } of wanted) {
    if (MountPath !== before.get(ID)) checkPlainText(MountPath, "TrainData")
    if (seen.has(ID)) throw new Failure("invalid", `TrainData names the dataset ${ID} twice`, { field: "TrainData" })
    seen.add(ID)
    if (!before.has(ID) && (mounts.get(ID) ?? "no") === "no") throw invalidReference("TrainData", "the dataset", ID)
  }
  const plan = planMounts(
    { UserPath: row.userPath, CodePath: row.codePath, ModelPath: row.modelPath },
    wanted.map(({ ID, MountPath }) => ({ id: ID, name: rows.get(ID)?.name ?? "", mountPath: MountPath ?? before.get(ID) ?? "" })),
  )
  if ("field" in plan) throw new Failure("invalid", `${plan.field} must be ${plan.expected}`, { field: plan.field })
  return wanted.map(({ ID }, i) => ({ dataId: ID, mountPath: plan.data[i] ?? "" }))
}

async function createProject(context: Context<"createProject">): Promise<Result<"createProject">> {
  const { services, caller, body: values } = context
  checkTrustChange(caller, values.IsTrusted, false)
  const row = await services.store.change(async (tx) => {
    const owner = await resolveOwner(tx, caller, values.UserName)
    authorize(caller, "project:create", { resource: newResource("project", owner.id), what: "project" })
    const group = await resolveGroup(tx, caller, values.GroupName)
    const imageId = await imageOf(tx, caller, { given: values, stored: undefined })
    const fields = { ...columnsOf(values), userId: owner.id, groupId: group.id, imageId, writtenBy: caller.userId } as Parameters<
      typeof tx.projects.insert
    >[0]
    await context.server.objectLimits.checkRoom(tx, caller, owner.id)
    const links = await planLinks(tx, caller, { row: fields, stored: [], train: values.TrainData })
    const made = await tx.projects.insert(fields)
    await tx.projects.setLinks(made.id, links)
    await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "project", id: made.id } })
    return made
  })
  return respondWithOne(projects, context, row)
}

export const projectHandlers = {
  createProject,
  deleteProject: (context) => remove(projects, context),
  restoreProject: (context) => restore(projects, context),
  readProject: (context) => read(projects, context),
  listProjects: (context) => list(projects, context),
} satisfies Partial<Handlers>
