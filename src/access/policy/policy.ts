import { type Caller, scopedRunId } from "../caller.ts"
import {
  type Action,
  type Relation,
  type RelationBits,
  type ResourceType,
  type Right,
  relationBits,
  relations,
  rightOf,
  rightToSee,
} from "./rights.ts"

/** As much of a caller as the policy looks at. */
export type Principal = Pick<Caller, "userId" | "isAdmin" | "groupIds" | "scopes">

/**
 * A right that was given to a person, to the members of a group, or (neither is set) to everyone
 * who is signed in.
 */
export interface Grant {
  access: "read" | "use" | "write"
  userId?: number
  groupId?: number
}

/** What is acted on, as far as the policy looks at it. `resources.ts` makes them from rows. */
export interface Resource {
  type: ResourceType
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
export type Decision = "yes" | "hidden" | "forbidden"

/**
 * Whether the actor may. Without a resource: whether there can be one on which they may, so a
 * `forbidden` needs no look into the database. Pure: equal arguments, equal answers.
 */
export function can(actor: Principal, action: Action, resource?: Resource): Decision {
  const right = rightOf(action)
  const run = scopedRunId(actor)
  if (run !== undefined && (action !== "run:open" || (resource && resource.id !== run))) return "forbidden"
  const scoped = run !== undefined || actor.scopes.includes(right.scope)
  if (!resource) return scoped && attainable(actor, right) ? "yes" : "forbidden"
  const relation = relationBitsOf(actor, resource)
  if (!visible(relation, right, resource)) return "hidden"
  return scoped && meets(relation, right) ? "yes" : "forbidden"
}

function attainable(actor: Principal, { who }: Right): boolean {
  return actor.isAdmin || who.some((relation) => relation !== "administrator")
}

/**
 * A deleted resource is there only for who may restore it, or shows where another object refers to
 * it.
 */
function visible(relation: RelationBits, right: Right, resource: Resource): boolean {
  if (resource.deleted && !right.deleted) return false
  if (resource.deleted) return meets(relation, right)
  const see = rightToSee(resource.type)
  // What does not exist yet, or has no reader of its own, is nothing to hide.
  return see === undefined || resource.id === undefined || meets(relation, see)
}

function meets(relation: RelationBits, { bits }: Right): boolean {
  return (relation & bits) !== 0
}

const is = Object.fromEntries(relations.map((each) => [each, relationBits(each)])) as Record<Relation, RelationBits>

/**
 * What the actor is to the resource: several at once, as an administrator with a grant is.
 * Publication and membership of a group are grants like those that an owner writes down.
 */
function relationBitsOf(actor: Principal, resource: Resource): RelationBits {
  let relation = is.anyone
  if (actor.isAdmin) relation |= is.administrator
  if (resource.ownerId === actor.userId) relation |= is.owner
  if (resource.projectOwnerId === actor.userId) relation |= is.projectOwner
  if (resource.published || (resource.groupId && actor.groupIds.includes(resource.groupId))) relation |= is.use
  for (const grant of resource.grants ?? []) if (concerns(grant, actor)) relation |= is[grant.access]
  return relation
}

function concerns(grant: Grant, actor: Principal): boolean {
  if (grant.userId !== undefined) return grant.userId === actor.userId
  return grant.groupId === undefined || actor.groupIds.includes(grant.groupId)
}
