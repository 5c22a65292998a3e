import { authorize, type Caller, groupResource } from "#access"
import { bounds, Failure, type Group, type Limits } from "#contract"
import { publishGroupChange } from "#projects"
import { changesFromBody, fieldsFromBody, type GroupRow, type Reads, tables } from "#store"
import type { HandlerContext, HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { omitUndefined } from "../../omit-undefined.ts"
import { refreshCaller } from "../../refresh-caller.ts"
import { toListFilter } from "../../responses/accounts.ts"
import { toLimitsResponse, toStoredLimits } from "../../responses/limits.ts"
import { toCommonFields, toPageRequest } from "../../responses/lists.ts"
import { toListResult } from "../../responses/long-lists.ts"
import type { SummaryResponses } from "../../responses/resources.ts"
import { requireId } from "../resources/owned-resource.ts"

/** Members of all groups of a list that are read at once: about 2 ms. */
const maxPlainMembers = 2_000

async function toGroupResponse({ store, settings }: Services, row: GroupRow): Promise<Group> {
  const members = await store.groups.members(row.id)
  return {
    ...toCommonFields(row),
    GroupName: row.groupName,
    Comment: row.comment,
    Members: members,
    Limits: toLimitsResponse(row.limits, settings.memoryUnit),
    TotalLimits: toLimitsResponse(row.totalLimits, settings.memoryUnit),
  }
}

async function resolveMembers(reads: Pick<Reads, "users">, names: readonly string[]): Promise<number[]> {
  const ids: number[] = []
  for (const name of new Set(names)) {
    const user = await reads.users.byName(name)
    if (!user || user.deletedAt !== null)
      throw new Failure("invalid", `Members must name people who exist; got ${JSON.stringify(name.slice(0, 64))}`, { field: "Members" })
    ids.push(user.id)
  }
  return ids
}

async function createGroup(context: OperationContext<"createGroup">): Promise<HandlerResult<"createGroup">> {
  const { services } = context
  authorize(context.caller, "group:create", { resource: { type: "group" }, what: "group" })
  const values = context.body
  const row = await services.store.change(async (tx) => {
    if (await tx.groups.byName(values.GroupName)) {
      throw new Failure("conflict", `The name ${values.GroupName} is or was the name of a group: choose another one`, {
        field: "GroupName",
      })
    }
    const made = await tx.groups.insert({
      ...fieldsFromBody(tables.groups, values),
      ...toLimitColumns(services, values),
    })
    const members = await resolveMembers(tx, values.Members)
    await tx.groups.setMembers(made.id, members)
    await publishGroupChange(services, tx, context, { verb: "created", row: made, before: [], after: members })
    return made
  })
  context.server.objectLimits.reset()
  return respondWithGroup(context, row)
}

/** Throws if a total names a duration: durations are per run, and cannot be shared. */
function checkTotals(totals: Limits): void {
  const given = (["MaxRunHours", "IdleMinutes"] as const).find((name) => typeof totals[name] === "number")
  if (given) throw new Failure("invalid", `TotalLimits must be amounts; ${given} is for each member, in Limits`, { field: "TotalLimits" })
}

function toLimitColumns<Given extends { Limits?: Limits; TotalLimits?: Limits }>({ settings }: Services, given: Given) {
  const { Limits, TotalLimits } = given
  const unit = settings.memoryUnit
  if (TotalLimits) checkTotals(TotalLimits)
  type Stored<Name extends keyof Given> = undefined extends Given[Name] ? Limits | undefined : Limits
  return {
    limits: (Limits && toStoredLimits(Limits, unit, "Limits")) as Stored<"Limits">,
    totalLimits: (TotalLimits && toStoredLimits(TotalLimits, unit, "TotalLimits")) as Stored<"TotalLimits">,
  }
}

async function respondWithGroup(context: Pick<HandlerContext, "services" | "setHeader">, row: GroupRow): Promise<Group> {
  context.setHeader("etag", etagOf(row))
  return toGroupResponse(context.services, row)
}

async function updateGroup(context: OperationContext<"updateGroup">): Promise<HandlerResult<"updateGroup">> {
  const { services } = context
  const id = context.body.ID
  const row = await services.store.change(async (tx) => {
    const stored = await tx.groups.get(id)
    authorize(context.caller, "group:change", { resource: stored && groupResource(stored), what: "group" })
    const given = context.body.check(stored && { Comment: stored.comment })
    const group = stored as GroupRow
    checkIfMatch(context.header("if-match"), group)
    if (given.GroupName !== undefined && given.GroupName !== group.groupName)
      throw new Failure("invalid", "GroupName never changes", { field: "GroupName" })
    const before = await tx.groups.memberIds(id)
    const after = given.Members === undefined ? before : await resolveMembers(tx, given.Members)
    if (given.Members !== undefined) await tx.groups.setMembers(id, after)
    const changed = await tx.groups.update(
      id,
      omitUndefined({ ...changesFromBody(tables.groups, given), ...toLimitColumns(services, given) }),
    )
    await publishGroupChange(services, tx, context, { verb: "updated", row: group, before, after })
    return changed as GroupRow
  })
  context.server.objectLimits.reset()
  return respondWithGroup(context, row)
}

async function deleteGroup(context: OperationContext<"deleteGroup">): Promise<HandlerResult<"deleteGroup">> {
  const { services } = context
  const id = requireId(context)
  await services.store.change(async (tx) => {
    const stored = await tx.groups.get(id)
    authorize(context.caller, "group:delete", { resource: stored && groupResource(stored), what: "group" })
    checkIfMatch(context.header("if-match"), stored as GroupRow)
    const before = await tx.groups.memberIds(id)
    // Published first: deleting the group removes its grants, by which the members are found.
    await publishGroupChange(services, tx, context, { verb: "deleted", row: stored as GroupRow, before, after: [] })
    await tx.groups.setDeleted(id, true)
  })
  return { ok: true }
}

async function readGroup(context: OperationContext<"readGroup">): Promise<HandlerResult<"readGroup">> {
  const { services } = context
  const { ID, GroupName } = context.query
  if (ID === undefined && GroupName === undefined) throw new Failure("invalid", "ID or GroupName is needed", { field: "ID" })
  const row = ID !== undefined ? await services.store.groups.get(ID) : await services.store.groups.byName(GroupName as string)
  const fits = row && (GroupName === undefined || row.groupName === GroupName)
  authorize(context.caller, "group:read", { resource: fits ? groupResource(row) : undefined, what: "group" })
  return respondWithGroup(context, row as GroupRow)
}

async function listGroups(context: OperationContext<"listGroups">): Promise<HandlerResult<"listGroups">> {
  const { services, query, caller } = context
  const { groups } = services.store
  const page = toPageRequest(query)
  const filter = toListFilter<GroupRow>(query, query.GroupName === undefined ? {} : { groupName: query.GroupName })
  const visibleTo = ({ isAdmin, userId }: Caller) => ({ ...filter, ...(isAdmin ? {} : { memberId: userId }) })
  const found = await groups.list(visibleTo(caller), page)
  const readSlice = async (ids: readonly number[]) => {
    const now = await refreshCaller(context)
    const still = await groups.list({ ...visibleTo(now), ids }, { page: 1, pageSize: ids.length })
    return Promise.all(still.rows.map((row) => toGroupResponse(services, row)))
  }
  return toListResult({ found, page, draft: await toDraft(services, found.rows), read: readSlice })
}

/**
 * The groups as far as they have few members together. Each further one becomes a slice of its own:
 * a person may be in hundreds of groups of thousands.
 */
async function toDraft(services: Services, rows: readonly GroupRow[]): Promise<SummaryResponses<Group>> {
  const responses: Group[] = []
  const bytes: number[] = []
  let members = 0
  for (const row of rows) {
    if (members > maxPlainMembers) bytes.push(bounds.texts.answerSliceBytes.value + 1)
    else {
      const group = await toGroupResponse(services, row)
      members += group.Members.length
      responses.push(group)
      bytes.push(0)
    }
  }
  return { responses, bytes, isTruncated: false }
}

export const groupHandlers = { createGroup, updateGroup, deleteGroup, readGroup, listGroups } satisfies Partial<Handlers>
