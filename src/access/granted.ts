import type { GrantRow, Reads } from "#store"
import type { Caller } from "./caller.ts"
import { type Answer, can, type Grant, type Thing } from "./policy.ts"
import type { Action } from "./rights.ts"
import { grantOf } from "./things.ts"

export type GrantReads = Pick<Reads, "grants">

/**
 * `can`, with the grants that are in force now. They are read only where one could change the
 * answer: not for owners, and for administrators hardly ever.
 */
export async function decide(reads: GrantReads, caller: Caller, action: Action, thing: Thing): Promise<Answer> {
  const [whole] = await withGrants(reads, caller, { actions: [action], things: [thing] })
  return can(caller, action, whole as Thing)
}

/**
 * Things of one type with what the caller was granted on them, as far as these actions depend on
 * it. One query, or none.
 */
export async function withGrants(
  reads: GrantReads,
  caller: Caller,
  asked: { actions: readonly Action[]; things: readonly Thing[] },
): Promise<Thing[]> {
  const open = asked.things.filter((thing) => isGranted(thing) && asked.actions.some((action) => matters(caller, action, thing)))
  const [first] = open
  if (!first) return [...asked.things]
  const ids = open.map((thing) => thing.id as number)
  const given = Map.groupBy(await reads.grants.given(first.type as GrantRow["thingType"], ids, caller), ({ thingId }) => thingId)
  return asked.things.map((thing) => {
    const own = given.get(thing.id as number)
    return own ? { ...thing, grants: own.map(({ access }): Grant => ({ access, userId: caller.userId })) } : thing
  })
}

/**
 * Things of one type with all grants in force on them: for telling those who see them. One query.
 */
export async function withAllGrants(reads: GrantReads, type: GrantRow["thingType"], things: readonly Thing[]): Promise<Thing[]> {
  const rows = await reads.grants.of(
    type,
    things.map(({ id }) => id as number),
  )
  const given = Map.groupBy(rows, ({ thingId }) => thingId)
  return things.map((thing) => {
    const own = given.get(thing.id as number)
    return own ? { ...thing, grants: own.map(grantOf) } : thing
  })
}

function isGranted({ type, id }: Thing): boolean {
  return id !== undefined && (type === "image" || type === "data" || type === "project" || type === "run")
}

const every: readonly Grant[] = [{ access: "read" }, { access: "use" }, { access: "write" }]

/** A grant takes nothing away. */
function matters(caller: Caller, action: Action, thing: Thing): boolean {
  const answer = can(caller, action, thing)
  return answer !== "yes" && answer !== can(caller, action, { ...thing, grants: every })
}
