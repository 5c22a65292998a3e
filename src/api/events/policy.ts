import { type Action, type Caller, can, groupThing, type Identity, type Thing, tokenThing, userThing } from "#access"
import type { FeedPolicy, Verdict } from "#events"
import type { JournalRow, Store } from "#store"
import { dataThings, grantThings, imageThings, projectThings, runThings } from "./things.ts"

/** Things as they are now, by `<type> <id>`; what does not exist is not there. */
export type Things = ReadonlyMap<string, Thing>

/**
 * What rows carry for this policy alone. `to`: only these people are told. `was`: the thing as it
 * was seen before. `people`: whose rights changed.
 */
interface Carried {
  to?: readonly number[]
  was?: Thing
  people?: readonly number[]
}

const carried = (row: JournalRow) => row.sight as Carried
const keyOf = ({ type, id }: { type: string; id?: number }) => `${type} ${id}`

/**
 * Who is told what of the journal: the table of rights, asked about things as they are when they
 * are told of.
 */
export function feedPolicy({ store, identity }: { store: Store; identity: Identity }): FeedPolicy<Caller, Things> {
  return {
    recall: (userId, proofId) => identity.recall(userId, proofId),
    onForget: (listener) => identity.onForget(listener),
    forget(rows) {
      const people = new Set(rows.flatMap(whoseRights))
      if (people.size > 0) identity.forget(...people)
    },
    look: (rows) => thingsOf(store, rows),
    judge,
    classOf: ({ isAdmin, groupIds, scopes }) => (isAdmin ? "administrator" : [...groupIds].sort().join(" ") + scopes.join()),
    concerned,
  }
}

function whoseRights(row: JournalRow): readonly number[] {
  return row.thing.type === "user" ? [row.thing.id] : (carried(row).people ?? [])
}

function* concerned(row: JournalRow, things: Things): Iterable<number> {
  const { to, was } = carried(row)
  if (to) yield* to
  for (const thing of [things.get(keyOf(row.thing)), was]) {
    if (thing?.ownerId !== undefined) yield thing.ownerId
    if (thing?.projectOwnerId !== undefined) yield thing.projectOwnerId
    for (const { userId } of thing?.grants ?? []) if (userId !== undefined) yield userId
  }
}

function judge(caller: Caller, row: JournalRow, things: Things): Verdict {
  const { to, was } = carried(row)
  if (to && !to.includes(caller.userId)) return "none"
  if (row.event === "reset") return "reset"
  const now = things.get(keyOf(row.thing))
  if (now && may(caller, now, "read")) return now.type === "run" ? ofRun(caller, row, now) : "whole"
  return to || (was && may(caller, was, "read")) ? "gone" : "none"
}

/** Who sees no more of a run than that it is there is not told how it goes. */
function ofRun(caller: Caller, row: JournalRow, run: Thing): Verdict {
  if (may(caller, run, "details")) return "whole"
  return row.event === "run.progress" || row.event === "run.warning" ? "none" : "outline"
}

function may(caller: Caller, thing: Thing, verb: "read" | "details"): boolean {
  return can(caller, `${thing.type}:${verb}` as Action, thing) === "yes"
}

async function thingsOf(store: Store, rows: readonly JournalRow[]): Promise<Things> {
  const ids = new Map<string, Set<number>>()
  for (const { thing } of rows) ids.set(thing.type, (ids.get(thing.type) ?? new Set()).add(thing.id))
  const idsOf = (type: string) => [...(ids.get(type) ?? [])]
  const things = await Promise.all([
    imageThings(store, idsOf("image")),
    dataThings(store, idsOf("data")),
    projectThings(store, idsOf("project")),
    runThings(store, idsOf("run")),
    grantThings(store, idsOf("grant")),
    eachOf(idsOf("user"), store.users, userThing),
    eachOf(idsOf("group"), store.groups, groupThing),
    eachOf(idsOf("token"), store.tokens, tokenThing),
  ])
  return new Map(things.flat().map((thing) => [keyOf(thing), thing]))
}

/** Accounts change rarely: they are read one by one. */
async function eachOf<Row>(
  ids: readonly number[],
  reads: { get(id: number): Promise<Row | undefined> },
  thing: (row: Row) => Thing,
): Promise<Thing[]> {
  const rows = await Promise.all(ids.map((id) => reads.get(id)))
  return rows.filter((row) => row !== undefined).map(thing)
}
