import {
  type Action,
  authorizeWithGrants,
  type Caller,
  dataResource,
  decideWithGrants,
  grantResource,
  imageResource,
  notFound,
  projectResource,
  type Resource,
  runResource,
  toViewer,
} from "#access"
import { type Body, Failure, type Grant } from "#contract"
import { checkSharedDirectory, granteesOf, resolveGroup } from "#projects"
import type { Change, GrantFilter, GrantRow, Reads } from "#store"
import type { Context, Handlers, Result } from "../../context.ts"
import { checkMatch, etagOf } from "../../http/etag.ts"
import { toListResponse, toPageRequest, toTimestamp } from "../../responses/lists.ts"

type Granted = GrantRow["resourceType"]
/** The types of resources that can be granted: the field of the ID, and the word in messages. */
const kinds = {
  image: { field: "ImageID", what: "image" },
  data: { field: "DataID", what: "dataset" },
  project: { field: "ProjectID", what: "project" },
  run: { field: "RunID", what: "running project" },
} as const satisfies Record<Granted, { field: string; what: string }>
const types = Object.keys(kinds) as Granted[]

function toGrantResponse(row: GrantRow): Grant {
  const on = (type: Granted) => (row.resourceType === type ? row.resourceId : 0)
  return {
    ID: row.id,
    CreatedAt: toTimestamp(row.createdAt),
    UpdatedAt: toTimestamp(row.updatedAt),
    ImageID: on("image"),
    DataID: on("data"),
    ProjectID: on("project"),
    RunID: on("run"),
    UserName: row.userName,
    GroupName: row.groupName,
    Access: row.access,
    Until: toTimestamp(row.expiresAt),
  }
}

/** The resource of a grant as the policy sees it; undefined where there is none. */
async function resourceOf(reads: Reads, type: Granted, id: number): Promise<Resource | undefined> {
  if (type === "image") return made(await reads.images.get(id), imageResource)
  if (type === "data") return made(await reads.data.get(id), dataResource)
  if (type === "project") return made(await reads.projects.get(id), projectResource)
  const run = await reads.runs.get(id)
  return run && runResource(run, (await reads.projects.get(run.projectId))?.userId)
}

function made<Row>(row: Row | undefined, resource: (row: Row) => Resource): Resource | undefined {
  return row && resource(row)
}

type Given = Body<"createGrant">

/** The resource of a body: exactly one of four IDs, where 0 names none. */
function namedResource(given: Given): { type: Granted; id: number } {
  const named = types.filter((type) => given[kinds[type].field] !== 0)
  const [type] = named
  if (!type || named.length > 1) {
    const field = kinds[named[1] ?? "image"].field
    throw new Failure("invalid", `One of ImageID, DataID, ProjectID and RunID is needed, and one alone; got ${named.length}`, { field })
  }
  return { type, id: given[kinds[type].field] }
}

async function whom(
  tx: Pick<Change, "users" | "groups">,
  context: Context<"createGrant">,
  given: Given,
): Promise<{ userId: number; groupId: number }> {
  const { UserName, GroupName } = given
  if (GroupName !== "") return { userId: 0, groupId: (await resolveGroup(tx, context.caller, GroupName)).id }
  return { userId: await resolveGrantee(tx, context.caller, UserName), groupId: 0 }
}

/**
 * The ID of a person whom the caller may know: themselves, and members of their groups;
 * administrators know everybody. All other names get the same refusal, after the same queries,
 * whether or not they exist.
 */
async function resolveGrantee(tx: Pick<Change, "users" | "groups">, caller: Caller, userName: string): Promise<number> {
  const user = await tx.users.byName(userName)
  const groups = await tx.groups.ofUser(user?.id ?? 0)
  const isKnown = caller.isAdmin || user?.id === caller.userId || groups.some(({ id }) => caller.groupIds.includes(id))
  if (user && user.deletedAt === null && isKnown) return user.id
  const wanted = caller.isAdmin
    ? "a person who exists"
    : `a person with whom ${caller.userName} shares a group (an administrator may name anybody)`
  throw new Failure("invalid", `UserName must name ${wanted}; got ${JSON.stringify(userName)}`, { field: "UserName" })
}

function checkForm({ UserName, GroupName, Until }: Given, now: number): number | null {
  if ((UserName === "") === (GroupName === ""))
    throw new Failure("invalid", "Either UserName or GroupName is needed: whom it is given to", { field: "UserName" })
  const expiresAt = Until === null ? null : Date.parse(Until)
  if (expiresAt !== null && expiresAt <= now)
    throw new Failure("invalid", `Until must be a time in the future, or null; got ${Until}`, { field: "Until" })
  return expiresAt
}

async function create(context: Context<"createGrant">): Promise<Result<"createGrant">> {
  const { services } = context
  const given = context.body
  const { type, id } = namedResource(given)
  const expiresAt = checkForm(given, services.clock.now())
  const { caller } = context
  const row = await services.store.change(async (tx) => {
    const resource = await resourceOf(tx, type, id)
    await authorizeWithGrants(tx, caller, `${type}:grant`, { resource, what: kinds[type].what })
    const to = await whom(tx, context, given)
    const ownerId = (resource as Resource).ownerId as number
    if (to.userId === ownerId)
      throw new Failure("invalid", `This ${kinds[type].what} belongs to ${given.UserName}, who may do everything with it`, {
        field: "UserName",
      })
    const put = { resourceType: type, resourceId: id, ownerId, ...to, access: given.Access, expiresAt, createdBy: caller.userId }
    await context.server.objectLimits.checkRoom(tx, caller, ownerId)
    const granted = await tx.grants.put(put)
    if (type === "data") await checkShared(tx, id)
    const verb = granted.version === 1 ? "created" : "updated"
    await services.events.granted(tx, context.actor, { verb, grant: granted, people: await granteesOf(tx, granted) })
    return granted
  })
  context.setHeader("etag", etagOf(row))
  return toGrantResponse(row)
}

async function checkShared(tx: Change, dataId: number): Promise<void> {
  const row = await tx.data.get(dataId)
  if (row) await checkSharedDirectory(tx, row, "DataID")
}

/**
 * Undefined where the filter contradicts itself, so that nothing can match. As in an answer, 0
 * beside what is named says that it is on nothing else.
 */
function whereOf(query: Partial<Omit<Grant, "ID">>): GrantFilter["where"] | undefined {
  const asked = types.filter((type) => query[kinds[type].field] !== undefined)
  const [type, ...others] = asked.filter((type) => query[kinds[type].field] !== 0)
  if (others.length > 0) return undefined
  if (!type && asked[0]) {
    const { field } = kinds[asked[0]]
    throw new Failure("invalid", `${field}=0 names nothing: one of ImageID, DataID, ProjectID and RunID must be more than 0`, { field })
  }
  const { UserName, GroupName, Access, Until } = query
  return {
    ...(type === undefined ? {} : { resourceType: type, resourceId: query[kinds[type].field] as number }),
    ...(UserName === undefined ? {} : UserName === "" ? { userId: 0 } : { userName: UserName }),
    ...(GroupName === undefined ? {} : { groupName: GroupName }),
    ...(Access === undefined ? {} : { access: Access }),
    ...(Until === undefined ? {} : { expiresAt: Until === null ? null : Date.parse(Until) }),
  }
}

async function list(context: Context<"listGrants">): Promise<Result<"listGrants">> {
  const { services } = context
  const page = toPageRequest(context.query)
  const { ID, ...fields } = context.query
  const where = whereOf(fields)
  const filter = { ...(where ? { where } : {}), ...(ID ? { ids: ID } : {}) }
  const found = where ? await services.store.grants.list(filter, toViewer(context.caller), page) : { rows: [], total: 0 }
  return toListResponse(found, page, found.rows.map(toGrantResponse))
}

/** The only grant with these fields that the caller sees. */
async function pick(tx: Change, context: Context<"deleteGrant">): Promise<GrantRow> {
  const { query } = context
  if (Object.keys(query).length === 0)
    throw new Failure("invalid", "ID, or other fields that pick exactly one grant, are needed", { field: "ID" })
  const { ID, ...fields } = query
  const where = whereOf(fields)
  const filter = { ...(where ? { where } : {}), ...(ID === undefined ? {} : { ids: [ID] }) }
  const found = where ? (await tx.grants.list(filter, toViewer(context.caller), { page: 1, pageSize: 2 })).rows : []
  if (found.length > 1) throw new Failure("conflict", "Several grants have these fields: add others, or name one by ID")
  if (!found[0]) throw notFound("grant")
  return found[0]
}

async function remove(context: Context<"deleteGrant">): Promise<Result<"deleteGrant">> {
  const { services } = context
  await services.store.change(async (tx) => {
    const grant = await pick(tx, context)
    const resource = await resourceOf(tx, grant.resourceType, grant.resourceId)
    if (!resource || (await decideWithGrants(tx, context.caller, `${grant.resourceType}:grant` as Action, resource)) !== "yes")
      throw new Failure("forbidden", `Who may grant this ${kinds[grant.resourceType].what} takes its grants back, nobody else`)
    checkMatch(context.header("if-match"), grant)
    await tx.grants.delete(grant.id)
    if (grant.resourceType === "data") await checkShared(tx, grant.resourceId)
    await services.events.granted(tx, context.actor, {
      verb: "deleted",
      grant,
      was: grantResource(grant),
      people: await granteesOf(tx, grant),
    })
  })
  return { ok: true }
}

export const grantHandlers = { createGrant: create, deleteGrant: remove, listGrants: list } satisfies Partial<Handlers>
