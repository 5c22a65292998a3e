import { type Caller, onlyRun } from "./caller.ts"
import {
  type Action,
  type Right,
  rightOf,
  rightToSee,
  type Standing,
  type Standings,
  standingBits,
  standings,
  type ThingType,
} from "./rights.ts"

/** As much of a caller as the policy looks at. */
export type Actor = Pick<Caller, "userId" | "isAdmin" | "groupIds" | "scopes">

/**
 * A right that was given to a person, to the members of a group, or (neither is set) to everyone
 * who is signed in.
 */
export interface Grant {
  access: "read" | "use" | "write"
  userId?: number
  groupId?: number
}

/** What is acted on, as far as the policy looks at it. `things.ts` makes them from rows. */
export interface Thing {
  type: ThingType
  id?: number
  /** Whose it is; a run's starter; a person's account is their own. */
  ownerId?: number
  /** Of a run: whose the project is. */
  projectOwnerId?: number
  /** `IsPublished` or `IsPublic`: a grant to everyone. */
  published?: boolean
  /** A project's group, or the group itself: a grant to its members. 0 is none. */
  groupId?: number
  deleted?: boolean
  /** Those in force now. */
  grants?: readonly Grant[]
}

/**
 * `hidden`: for this actor it does not exist (404). `forbidden`: they see it, or its existence is
 * no secret, but may not (403).
 */
export type Answer = "yes" | "hidden" | "forbidden"

/**
 * Whether the actor may. Without a thing: whether there can be one on which they may, so a
 * `forbidden` needs no look into the database. Pure: equal arguments, equal answers.
 */
export function can(actor: Actor, action: Action, thing?: Thing): Answer {
  const right = rightOf(action)
  const run = onlyRun(actor)
  if (run !== undefined && (action !== "run:open" || (thing && thing.id !== run))) return "forbidden"
  const scoped = run !== undefined || actor.scopes.includes(right.scope)
  if (!thing) return scoped && attainable(actor, right) ? "yes" : "forbidden"
  const standing = standingsOf(actor, thing)
  if (!visible(standing, right, thing)) return "hidden"
  return scoped && meets(standing, right) ? "yes" : "forbidden"
}

function attainable(actor: Actor, { who }: Right): boolean {
  return actor.isAdmin || who.some((standing) => standing !== "administrator")
}

/**
 * A deleted thing is there only for who may restore it, or shows where another object refers to it.
 */
function visible(standing: Standings, right: Right, thing: Thing): boolean {
  if (thing.deleted && !right.deleted) return false
  if (thing.deleted) return meets(standing, right)
  const see = rightToSee(thing.type)
  // What does not exist yet, or has no reader of its own, is nothing to hide.
  return see === undefined || thing.id === undefined || meets(standing, see)
}

function meets(standing: Standings, { bits }: Right): boolean {
  return (standing & bits) !== 0
}

const is = Object.fromEntries(standings.map((each) => [each, standingBits(each)])) as Record<Standing, Standings>

/**
 * What the actor is to the thing: several at once, as an administrator with a grant is. Publication
 * and membership of a group are grants like those that an owner writes down.
 */
function standingsOf(actor: Actor, thing: Thing): Standings {
  let standing = is.anyone
  if (actor.isAdmin) standing |= is.administrator
  if (thing.ownerId === actor.userId) standing |= is.owner
  if (thing.projectOwnerId === actor.userId) standing |= is.projectOwner
  if (thing.published || (thing.groupId && actor.groupIds.includes(thing.groupId))) standing |= is.use
  for (const grant of thing.grants ?? []) if (concerns(grant, actor)) standing |= is[grant.access]
  return standing
}

function concerns(grant: Grant, actor: Actor): boolean {
  if (grant.userId !== undefined) return grant.userId === actor.userId
  return grant.groupId === undefined || actor.groupIds.includes(grant.groupId)
}
