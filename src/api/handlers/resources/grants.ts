import { type Action, authorizeWithGrants, decideWithGrants, grantResource, notFound, type Resource, toViewer } from "#access"
import { Failure, type Grant } from "#contract"
import {
  checkGrantOnOverlappingDatasets,
  checkOneGrantee,
  type GrantableType,
  grantableResources,
  grantableTypes,
  loadGrantTarget,
  parseGrantExpiry,
  parseGrantTarget,
  resolveGrantee,
} from "#projects"
import type { Change, GrantFilter, GrantRow } from "#store"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { toListResponse, toPageRequest, toTimestamp } from "../../responses/lists.ts"

function toGrantResponse(row: GrantRow): Grant {
  const on = (type: GrantableType) => (row.resourceType === type ? row.resourceId : 0)
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

async function create(context: OperationContext<"createGrant">): Promise<HandlerResult<"createGrant">> {
  const { services } = context
  const { caller, body } = context
  const { type, id } = parseGrantTarget(body)
  checkOneGrantee(body)
  const expiresAt = parseGrantExpiry(body, services.clock.now())
  const { label } = grantableResources[type]
  const row = await services.store.change(async (tx) => {
    const resource = await loadGrantTarget(tx, type, id)
    await authorizeWithGrants(tx, caller, `${type}:grant`, { resource, what: label })
    const grantee = await resolveGrantee(tx, caller, body)
    const ownerId = (resource as Resource).ownerId as number
    if (grantee.userId === ownerId)
      throw new Failure("invalid", `This ${label} belongs to ${body.UserName}, who may do everything with it`, {
        field: "UserName",
      })
    const put = { resourceType: type, resourceId: id, ownerId, ...grantee, access: body.Access, expiresAt, createdBy: caller.userId }
    await context.server.objectLimits.checkRoom(tx, caller, ownerId)
    const granted = await tx.grants.put(put)
    await checkGrantOnOverlappingDatasets(tx, granted)
    const verb = granted.version === 1 ? "created" : "updated"
    await services.events.granted(tx, context.actor, { verb, grant: granted })
    return granted
  })
  context.setHeader("etag", etagOf(row))
  return toGrantResponse(row)
}

/**
 * Undefined if the filter contradicts itself, so that nothing can match. An ID of 0 beside another
 * ID is as in an answer: the grant is not on a resource of that type.
 */
function toGrantFilter(query: Partial<Omit<Grant, "ID">>): GrantFilter["where"] | undefined {
  const asked = grantableTypes.filter((type) => query[grantableResources[type].field] !== undefined)
  const [type, ...others] = asked.filter((type) => query[grantableResources[type].field] !== 0)
  if (others.length > 0) return undefined
  if (!type && asked[0]) {
    const { field } = grantableResources[asked[0]]
    throw new Failure("invalid", `${field}=0 names nothing: one of ImageID, DataID, ProjectID and RunID must be more than 0`, { field })
  }
  const { UserName, GroupName, Access, Until } = query
  return {
    ...(type === undefined ? {} : { resourceType: type, resourceId: query[grantableResources[type].field] as number }),
    ...(UserName === undefined ? {} : UserName === "" ? { userId: 0 } : { userName: UserName }),
    ...(GroupName === undefined ? {} : { groupName: GroupName }),
    ...(Access === undefined ? {} : { access: Access }),
    ...(Until === undefined ? {} : { expiresAt: Until === null ? null : Date.parse(Until) }),
  }
}

async function list(context: OperationContext<"listGrants">): Promise<HandlerResult<"listGrants">> {
  const { services } = context
  const page = toPageRequest(context.query)
  const { ID, ...fields } = context.query
  const where = toGrantFilter(fields)
  const filter = { ...(where ? { where } : {}), ...(ID ? { ids: ID } : {}) }
  const found = where ? await services.store.grants.list(filter, toViewer(context.caller), page) : { rows: [], total: 0 }
  return toListResponse(found, page, found.rows.map(toGrantResponse))
}

/** The only grant with these fields that the caller sees. */
async function findGrant(tx: Change, context: OperationContext<"deleteGrant">): Promise<GrantRow> {
  const { query } = context
  if (Object.keys(query).length === 0)
    throw new Failure("invalid", "ID, or other fields that pick exactly one grant, are needed", { field: "ID" })
  const { ID, ...fields } = query
  const where = toGrantFilter(fields)
  const filter = { ...(where ? { where } : {}), ...(ID === undefined ? {} : { ids: [ID] }) }
  const found = where ? (await tx.grants.list(filter, toViewer(context.caller), { page: 1, pageSize: 2 })).rows : []
  if (found.length > 1) throw new Failure("conflict", "Several grants have these fields: add others, or name one by ID")
  if (!found[0]) throw notFound("grant")
  return found[0]
}

async function remove(context: OperationContext<"deleteGrant">): Promise<HandlerResult<"deleteGrant">> {
  const { services } = context
  await services.store.change(async (tx) => {
    const grant = await findGrant(tx, context)
    const resource = await loadGrantTarget(tx, grant.resourceType, grant.resourceId)
    if (!resource || (await decideWithGrants(tx, context.caller, `${grant.resourceType}:grant` as Action, resource)) !== "yes")
      throw new Failure("forbidden", `Only people who may grant this ${grantableResources[grant.resourceType].label} may revoke its grants`)
    checkIfMatch(context.header("if-match"), grant)
    await tx.grants.delete(grant.id)
    await checkGrantOnOverlappingDatasets(tx, grant)
    await services.events.granted(tx, context.actor, {
      verb: "deleted",
      grant,
      was: grantResource(grant),
    })
  })
  return { ok: true }
}

export const grantHandlers = { createGrant: create, deleteGrant: remove, listGrants: list } satisfies Partial<Handlers>
