import { type Action, type Caller, can, groupResource, type Identity, type Resource, tokenResource, userResource } from "#access"
import type { EventVisibility, FeedPolicy } from "#events"
import type { JournalRow, Store } from "#store"
import { dataResources, grantResources, imageResources, projectResources, runResources } from "./resources.ts"

/** Resources as they are now, by `<type> <id>`; what does not exist is not there. */
export type Resources = ReadonlyMap<string, Resource>

/**
 * What rows carry for this policy alone. `to`: only these people are told. `was`: the resource as
 * it was seen before. `people`: whose rights changed.
 */
interface Carried {
  to?: readonly number[]
  was?: Resource
  people?: readonly number[]
}

const carried = (row: JournalRow) => row.sight as Carried
const keyOf = ({ type, id }: { type: string; id?: number }) => `${type} ${id}`

/**
 * Who is told what of the journal: the table of rights, asked about resources as they are when they
 * are told of.
 */
export function createFeedPolicy({ store, identity }: { store: Store; identity: Identity }): FeedPolicy<Caller, Resources> {
  return {
    loadSubscriber: (userId, credentialId) => identity.refreshCaller(userId, credentialId),
    onInvalidate: (listener) => identity.onInvalidate(listener),
    invalidate(rows) {
      const people = new Set(rows.flatMap(whoseRights))
      if (people.size > 0) identity.invalidate(...people)
    },
    loadResources: (rows) => resourcesOf(store, rows),
    visibilityOf,
    audienceOf: ({ isAdmin, groupIds, scopes }) => (isAdmin ? "administrator" : [...groupIds].sort().join(" ") + scopes.join()),
    affectedUsers,
  }
}

function whoseRights(row: JournalRow): readonly number[] {
  return row.resource.type === "user" ? [row.resource.id] : (carried(row).people ?? [])
}

function* affectedUsers(row: JournalRow, resources: Resources): Iterable<number> {
  const { to, was } = carried(row)
  if (to) yield* to
  for (const resource of [resources.get(keyOf(row.resource)), was]) {
    if (resource?.ownerId !== undefined) yield resource.ownerId
    if (resource?.projectOwnerId !== undefined) yield resource.projectOwnerId
    for (const { userId } of resource?.grants ?? []) if (userId !== undefined) yield userId
  }
}

function visibilityOf(caller: Caller, row: JournalRow, resources: Resources): EventVisibility {
  const { to, was } = carried(row)
  if (to && !to.includes(caller.userId)) return "none"
  if (row.event === "reset") return "reset"
  const now = resources.get(keyOf(row.resource))
  if (now && may(caller, now, "read")) return now.type === "run" ? ofRun(caller, row, now) : "whole"
  return to || (was && may(caller, was, "read")) ? "gone" : "none"
}

/** Who sees no more of a run than that it is there is not told how it goes. */
function ofRun(caller: Caller, row: JournalRow, run: Resource): EventVisibility {
  if (may(caller, run, "details")) return "whole"
  return row.event === "run.progress" || row.event === "run.warning" ? "none" : "outline"
}

function may(caller: Caller, resource: Resource, verb: "read" | "details"): boolean {
  return can(caller, `${resource.type}:${verb}` as Action, resource) === "yes"
}

async function resourcesOf(store: Store, rows: readonly JournalRow[]): Promise<Resources> {
  const ids = new Map<string, Set<number>>()
  for (const { resource } of rows) ids.set(resource.type, (ids.get(resource.type) ?? new Set()).add(resource.id))
  const idsOf = (type: string) => [...(ids.get(type) ?? [])]
  const resources = await Promise.all([
    imageResources(store, idsOf("image")),
    dataResources(store, idsOf("data")),
    projectResources(store, idsOf("project")),
    runResources(store, idsOf("run")),
    grantResources(store, idsOf("grant")),
    eachOf(idsOf("user"), store.users, userResource),
    eachOf(idsOf("group"), store.groups, groupResource),
    eachOf(idsOf("token"), store.tokens, tokenResource),
  ])
  return new Map(resources.flat().map((resource) => [keyOf(resource), resource]))
}

/** Accounts change rarely: they are read one by one. */
async function eachOf<Row>(
  ids: readonly number[],
  reads: { get(id: number): Promise<Row | undefined> },
  resource: (row: Row) => Resource,
): Promise<Resource[]> {
  const rows = await Promise.all(ids.map((id) => reads.get(id)))
  return rows.filter((row) => row !== undefined).map(resource)
}
