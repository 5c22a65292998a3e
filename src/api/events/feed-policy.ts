import {
  type Action,
  type Caller,
  can,
  groupResource,
  type Identity,
  type Resource,
  sessionResource,
  tokenResource,
  userResource,
} from "#access"
import type { EventVisibility, FeedPolicy } from "#events"
import { type JournalRow, type Store, unreadableEvent } from "#store"
import { loadDataResources, loadGrantResources, loadImageResources, loadProjectResources, loadRunResources } from "./load-resources.ts"

/** The resources that exist now, by `<type> <id>`. */
export type ResourceMap = ReadonlyMap<string, Resource>

/** The part of a journal row that only this policy reads. */
interface RowAudience {
  /** If it is there, only these people receive the event. */
  to?: readonly number[]
  /**
   * If it is there, only the members of this group receive the event; but administrators see the
   * resource in any case, and do not.
   */
  toGroup?: number
  /** With `to`: administrators receive it as well. */
  toAdministrators?: boolean
  /** The resource before the change. */
  was?: Resource
  /** The people whose rights have changed. */
  people?: readonly number[]
}

const audienceOf = (row: JournalRow) => row.visibility as RowAudience
const keyOf = ({ type, id }: { type: string; id?: number }) => `${type} ${id}`

/**
 * Decides by the policy who receives which events, from the resources as they are when the event is
 * sent.
 */
export function createFeedPolicy({ store, identity }: { store: Store; identity: Identity }): FeedPolicy<Caller, ResourceMap> {
  return {
    loadSubscriber: (userId, credentialId) => identity.refreshCaller(userId, credentialId),
    onInvalidate: (listener) => identity.onInvalidate(listener),
    invalidate(rows) {
      const people = new Set(rows.flatMap(usersWithChangedRights))
      if (rows.some(({ event }) => event === unreadableEvent)) identity.invalidateAll()
      else if (people.size > 0) identity.invalidate(...people)
    },
    loadResources: (rows) => loadResources(store, rows),
    visibilityOf,
    audienceOf: ({ isAdmin, groupIds, scopes }) => (isAdmin ? "administrator" : [...groupIds].sort().join(" ") + scopes.join()),
    affectedUsers,
  }
}

function usersWithChangedRights(row: JournalRow): readonly number[] {
  return row.resource.type === "user" ? [row.resource.id] : (audienceOf(row).people ?? [])
}

/** Each resource counts once: many rows may name one that has many grants. */
function* affectedUsers(rows: readonly JournalRow[], resources: ResourceMap): Iterable<number> {
  const known = new Set<Resource>()
  for (const row of rows) {
    const { to, was } = audienceOf(row)
    if (to) yield* to
    for (const resource of [resources.get(keyOf(row.resource)), was]) {
      if (resource === undefined || known.has(resource)) continue
      known.add(resource)
      if (resource.ownerId !== undefined) yield resource.ownerId
      if (resource.projectOwnerId !== undefined) yield resource.projectOwnerId
      for (const { userId } of resource.grants ?? []) if (userId !== undefined) yield userId
    }
  }
}

function visibilityOf(caller: Caller, row: JournalRow, resources: ResourceMap): EventVisibility {
  const { to, toGroup, toAdministrators, was } = audienceOf(row)
  if (to && !to.includes(caller.userId) && !(toAdministrators && caller.isAdmin)) return "none"
  if (toGroup !== undefined && (caller.isAdmin || !caller.groupIds.includes(toGroup))) return "none"
  if (row.event === "reset") return "reset"
  const now = resources.get(keyOf(row.resource))
  if (now && isAllowed(caller, now, "read")) return now.type === "run" ? runVisibility(caller, row, now) : "whole"
  return to || toGroup !== undefined || (was && isAllowed(caller, was, "read")) ? "gone" : "none"
}

/** A caller without the right to a run's details receives no events about its progress. */
function runVisibility(caller: Caller, row: JournalRow, run: Resource): EventVisibility {
  if (isAllowed(caller, run, "details")) return "whole"
  return row.event === "run.progress" || row.event === "run.warning" ? "none" : "outline"
}

function isAllowed(caller: Caller, resource: Resource, verb: "read" | "details"): boolean {
  return can(caller, `${resource.type}:${verb}` as Action, resource) === "yes"
}

async function loadResources(store: Store, rows: readonly JournalRow[]): Promise<ResourceMap> {
  const ids = new Map<string, Set<number>>()
  for (const { resource } of rows) ids.set(resource.type, (ids.get(resource.type) ?? new Set()).add(resource.id))
  const idsOf = (type: string) => [...(ids.get(type) ?? [])]
  const resources = await Promise.all([
    loadImageResources(store, idsOf("image")),
    loadDataResources(store, idsOf("data")),
    loadProjectResources(store, idsOf("project")),
    loadRunResources(store, idsOf("run")),
    loadGrantResources(store, idsOf("grant")),
    loadEach(idsOf("user"), store.users, userResource),
    loadEach(idsOf("group"), store.groups, groupResource),
    loadEach(idsOf("token"), store.tokens, tokenResource),
    loadEach(idsOf("session"), store.sessions, sessionResource),
  ])
  return new Map(resources.flat().map((resource) => [keyOf(resource), resource]))
}

/** Accounts change rarely, so they are read one by one. */
async function loadEach<Row>(
  ids: readonly number[],
  reads: { get(id: number): Promise<Row | undefined> },
  resource: (row: Row) => Resource,
): Promise<Resource[]> {
  const rows = await Promise.all(ids.map((id) => reads.get(id)))
  return rows.filter((row) => row !== undefined).map(resource)
}
