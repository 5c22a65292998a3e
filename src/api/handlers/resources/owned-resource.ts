import { type Action, authorizeWithGrants, type Caller, decideWithGrants, loadAllGrants, notFound, type Resource, toViewer } from "#access"
import { type AnswerValues, type BodyChanges, type BodyValues, type Done, Failure, type Fields, type List, type Sort } from "#contract"
import {
  type Change,
  changesFromBody,
  longTextBytes,
  type Reads,
  type ResourceFilter,
  type ResourceReads,
  type RowSummaries,
  type tables,
  type Writes,
} from "#store"
import type { LongList } from "../../answer-forms.ts"
import type { HandlerContext } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { refreshCaller } from "../../refresh-caller.ts"
import { splitWords, toPageRequest, toSortColumn } from "../../responses/lists.ts"
import { toListResult } from "../../responses/long-lists.ts"
import type { SummaryResponses } from "../../responses/resources.ts"
import { type FieldColumns, findOne } from "./find-one.ts"

interface Row {
  id: number
  createdAt: number
  updatedAt: number
  deletedAt: number | null
  version: number
  userId: number
  userName: string
}

/** The differences between images, datasets and projects for the operations that they share. */
export interface ResourceDefinition<R extends Row, A extends object, F extends Fields> {
  readonly type: "image" | "data" | "project"
  /** The word in messages. */
  readonly label: string
  readonly table: (typeof tables)["images" | "datasets" | "projects"]
  readonly columns: FieldColumns
  readonly published: "isPublished" | "isPublic"
  readonly name: "name" | "projectName"
  reads(reads: Reads): ResourceReads<R>
  writes(tx: Change): Writes<R>
  resource(row: R): Resource
  /** The answers for whole rows. */
  toResponses(context: Pick<HandlerContext, "services" | "caller">, rows: R[]): Promise<A[]>
  /** The answers for rows as lists read them, perhaps without long texts. */
  toSummaries(context: HandlerContext, found: RowSummaries<R>): Promise<SummaryResponses<A>>
  /** The stored texts, which a body may repeat unchecked. */
  stored(row: R): Partial<AnswerValues<F>>
  /** Turns a body into the row's new fields. May write rows that belong to it, such as links. */
  change(tx: Change, context: HandlerContext, update: { row: R; given: Partial<BodyValues<F>> }): Promise<RowChanges<R>>
  /** Applies the consequences of a change, in its transaction. */
  changed?(tx: Change, context: HandlerContext, rows: { was: R; now: R }): Promise<void>
  /** Sentences for the answer to a write, about what does not stop it. */
  warnings?(context: HandlerContext, row: R): Promise<string[]>
  /** Throws if restoring the row would break a rule. */
  checkRestore?(tx: Change, row: R): Promise<void>
}

type RowChanges<R extends Row> = Parameters<Writes<R>["update"]>[1]

type ListQuery = {
  ID?: number[]
  UserName?: string
  IsPublish?: boolean
  Name?: string
  ProjectName?: string
  Type?: string
  GroupName?: string
  q?: string
  Deleted?: boolean
  sort?: Sort
  page?: number
  pageSize?: number
}

const action = (kind: { type: string }, verb: string) => `${kind.type}:${verb}` as Action

/** The answer to a read, POST or PUT: the whole object and its tag. */
export async function respondWithETag<R extends Row, A extends object>(
  kind: Pick<ResourceDefinition<R, A, Fields>, "toResponses">,
  context: Pick<HandlerContext, "services" | "caller" | "setHeader">,
  row: R,
): Promise<A> {
  context.setHeader("etag", etagOf(row))
  const [answer] = await kind.toResponses(context, [row])
  return answer as A
}

/** The answer to a POST or PUT, with warnings if there are any. */
export async function respondToWrite<R extends Row, A extends object, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  context: HandlerContext,
  row: R,
): Promise<A> {
  const answer = await respondWithETag(kind, context, row)
  const warnings = await kind.warnings?.(context, row)
  return warnings === undefined || warnings.length === 0 ? answer : { ...answer, Warnings: warnings }
}

export async function listResources<R extends Row, A extends { ID: number }, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  context: HandlerContext & { query: ListQuery },
): Promise<List<A> | LongList<A>> {
  const { query, services } = context
  const where: Record<string, unknown> = {}
  if (query.UserName !== undefined) where.userName = query.UserName
  if (query.IsPublish !== undefined) where[kind.published] = query.IsPublish
  const name = query.Name ?? query.ProjectName
  if (name !== undefined) where[kind.name] = name
  if (query.Type !== undefined) where.type = query.Type
  if (query.GroupName !== undefined) where.groupName = query.GroupName
  const words = splitWords(query.q)
  const sort = toSortColumn(query.sort)
  const filter = {
    where,
    ...(query.ID ? { ids: query.ID } : {}),
    ...(words ? { words } : {}),
    ...(query.Deleted ? { deleted: true } : {}),
    ...(sort ? { sort } : {}),
  } as ResourceFilter<R>
  const page = toPageRequest(query)
  const reads = kind.reads(services.store)
  const found = await reads.list(filter, toViewer(context.caller), page)
  const draft = await kind.toSummaries(context, found)
  const readSlice = async (ids: readonly number[]) => {
    const caller = await refreshCaller(context)
    const still = await reads.list({ ...filter, ids }, toViewer(caller), { page: 1, pageSize: ids.length })
    return kind.toResponses({ services, caller }, await reads.getMany(still.rows.map(({ id }) => id)))
  }
  return toListResult({ found, page, draft, read: readSlice })
}

export async function readResource<R extends Row, A extends object, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  context: HandlerContext & { query: { ID?: number } },
): Promise<A> {
  const { query, services } = context
  if (query.ID !== undefined && Object.keys(query).length === 1) return readResourceById(kind, context, query.ID)
  const viewer = toViewer(context.caller)
  const reads = kind.reads(services.store)
  const { row } = await findOne<R, A>(query, {
    label: kind.label,
    columns: kind.columns,
    list: (where, page) => reads.list({ where } as ResourceFilter<R>, viewer, page),
    toResponses: async (found) => (await kind.toSummaries(context, found)).responses,
    scan: (work) => context.server.scans.run(context.caller.userId, work),
  })
  // The search may have taken long.
  return readResourceById(kind, context, row.id, await refreshCaller(context))
}

export async function readResourceById<R extends Row, A extends object, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  context: HandlerContext,
  id: number,
  caller: Caller = context.caller,
): Promise<A> {
  const { services } = context
  const row = await kind.reads(services.store).get(id)
  await authorizeWithGrants(services.store, caller, action(kind, "read"), { resource: row && kind.resource(row), what: kind.label })
  const { setHeader } = context
  return respondWithETag(kind, { services, caller, setHeader: setHeader.bind(context) }, row as R)
}

export async function updateResource<R extends Row, A extends object, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  context: HandlerContext & { body: BodyChanges<F> },
  match: string | undefined = context.header("if-match"),
): Promise<A> {
  const { services, body } = context
  const id = body.ID
  const row = await services.store.change(async (tx) => {
    const stored = await kind.reads(tx).get(id)
    await authorizeWithGrants(tx, context.caller, action(kind, "change"), { resource: stored && kind.resource(stored), what: kind.label })
    checkIfMatch(match, stored as R)
    const given = body.check(kind.stored(stored as R))
    await checkTextRoom(kind, context, { tx, stored: stored as R, given })
    const fields = await kind.change(tx, context, { row: stored as R, given })
    const changed = await kind.writes(tx).update(id, fields)
    if (!changed) throw notFound(kind.label)
    const visibility = { was: kind.resource(stored as R), now: kind.resource(changed) }
    await services.events.changed(tx, context.actor, { verb: "updated", resource: { type: kind.type, id }, ...visibility })
    await kind.changed?.(tx, context, { was: stored as R, now: changed })
    return changed
  })
  return respondToWrite(kind, context, row)
}

async function checkTextRoom<R extends Row, A extends object, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  { server, caller }: HandlerContext,
  { tx, stored, given }: { tx: Change; stored: R; given: Partial<BodyValues<F>> },
): Promise<void> {
  const changed = { ...stored, ...changesFromBody(kind.table, given) }
  const bytes = { was: longTextBytes(kind.table, stored), now: longTextBytes(kind.table, changed) }
  await server.objectLimits.checkTextRoom(tx, caller, stored.userId, bytes)
}

/** An event has the grants themselves, unless they are many. */
const maxGrantsInEvent = 50

/**
 * A resource for its last event, without the grants of so many people: these get an event of their
 * own, with their IDs alone. Anybody may delete and restore what they granted to thousands.
 */
function withFewGrants(resource: Resource): { resource: Resource; people: number[] } {
  const { grants = [] } = resource
  if (grants.length <= maxGrantsInEvent) return { resource, people: [] }
  const people = grants.flatMap(({ userId }) => userId ?? [])
  return { resource: { ...resource, grants: grants.filter(({ userId }) => userId === undefined) }, people }
}

export async function removeResource<R extends Row, A extends object, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  context: HandlerContext & { query: { ID?: number } },
): Promise<Done> {
  const { services } = context
  const id = requireId(context)
  await services.store.change(async (tx) => {
    const stored = await kind.reads(tx).get(id)
    await authorizeWithGrants(tx, context.caller, action(kind, "delete"), { resource: stored && kind.resource(stored), what: kind.label })
    checkIfMatch(context.header("if-match"), stored as R)
    const [was] = await loadAllGrants(tx, kind.type, [kind.resource(stored as R)])
    await kind.writes(tx).setDeleted(id, true)
    const { resource, people } = withFewGrants(was as Resource)
    await services.events.changed(tx, context.actor, { verb: "deleted", resource: { type: kind.type, id }, was: resource })
    await services.events.visibilityChanged(tx, { resources: [{ type: kind.type, id }], people })
  })
  return { ok: true }
}

/** Restoring a resource that is not deleted changes nothing and returns it. */
export async function restoreResource<R extends Row, A extends object, F extends Fields>(
  kind: ResourceDefinition<R, A, F>,
  context: HandlerContext & { query: { ID?: number } },
): Promise<A> {
  const { services } = context
  const id = requireId(context)
  const row = await services.store.change(async (tx) => {
    const stored = await kind.reads(tx).get(id)
    const resource = stored && kind.resource(stored)
    const restores = resource?.deleted && (await decideWithGrants(tx, context.caller, action(kind, "restore"), resource)) === "yes"
    if (!restores) await authorizeWithGrants(tx, context.caller, action(kind, "delete"), { resource, what: kind.label })
    if (!stored || !restores) return stored as R
    await context.server.objectLimits.checkRoom(tx, context.caller, stored.userId, { isRestored: true })
    await kind.checkRestore?.(tx, stored)
    const restored = await kind.writes(tx).setDeleted(id, false)
    await services.events.changed(tx, context.actor, { verb: "restored", resource: { type: kind.type, id } })
    return restored as R
  })
  return respondWithETag(kind, context, row)
}

/** The `ID` that a DELETE or an action names. */
export function requireId({ query }: { query: { ID?: number } }): number {
  const { ID } = query
  if (ID === undefined) throw new Failure("invalid", "ID is needed: it names the object", { field: "ID" })
  return ID
}
