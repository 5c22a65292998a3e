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

/** The part of a caller that the policy reads. */
export type Principal = Pick<Caller, "userId" | "isAdmin" | "groupIds" | "scopes">

/**
 * A right that was given to a person, to the members of a group, or (neither is set) to everyone
 * who is signed in.
 */
export interface PolicyGrant {
  access: "read" | "use" | "write"
  userId?: number
  groupId?: number
}

/** The part of a resource that the policy reads. `resources.ts` creates them from rows. */
export interface Resource {
  type: ResourceType
  id?: number
  /** The owner; a run's starter; for an account, the person. */
  ownerId?: number
  /** For a run: the project's owner. */
  projectOwnerId?: number
  /** `IsPublished` or `IsPublic`: a grant to everyone. */
  published?: boolean
  /** A project's group, or the group itself: a grant to its members. 0 is none. */
  groupId?: number
  deleted?: boolean
  /** The grants in force now. */
  grants?: readonly PolicyGrant[]
}

/**
 * `hidden`: for this actor it does not exist (404). `forbidden`: they see it, or its existence is
 * no secret, but the action is not allowed (403).
 */
export type Decision = "yes" | "hidden" | "forbidden"

/**
 * Whether the actor may perform the action. Without a resource: whether any resource could allow
 * it, so that a `forbidden` needs no query. Pure: equal arguments, equal results.
 */
export function can(actor: Principal, action: Action, resource?: Resource): Decision {
  const right = rightOf(action)
  const run = scopedRunId(actor)
  if (run !== undefined && (action !== "run:open" || (resource && resource.id !== run))) return "forbidden"
  const scoped = run !== undefined || actor.scopes.includes(right.scope)
  if (!resource) return scoped && isAttainable(actor, right) ? "yes" : "forbidden"
  const relation = relationBitsOf(actor, resource)
  if (!isVisible(relation, right, resource)) return "hidden"
  return scoped && includesRight(relation, right) ? "yes" : "forbidden"
}

function isAttainable(actor: Principal, { who }: Right): boolean {
  return actor.isAdmin || who.some((relation) => relation !== "administrator")
}

/**
 * A deleted resource is visible only to people who may restore it, or inside another object that
 * refers to it.
 */
function isVisible(relation: RelationBits, right: Right, resource: Resource): boolean {
  if (resource.deleted && !right.deleted) return false
  if (resource.deleted) return includesRight(relation, right)
  const see = rightToSee(resource.type)
  // A resource that does not exist yet, or whose type has no `read` right, is no secret.
  return see === undefined || resource.id === undefined || includesRight(relation, see)
}

function includesRight(relation: RelationBits, { bits }: Right): boolean {
  return (relation & bits) !== 0
}

const is = Object.fromEntries(relations.map((each) => [each, relationBits(each)])) as Record<Relation, RelationBits>

/**
 * The actor's relations to the resource; an administrator with a grant has several. Publication and
 * membership of a group count as grants.
 */
function relationBitsOf(actor: Principal, resource: Resource): RelationBits {
  let relation = is.anyone
  if (actor.isAdmin) relation |= is.administrator
  if (resource.ownerId === actor.userId) relation |= is.owner
  if (resource.projectOwnerId === actor.userId) relation |= is.projectOwner
  if (resource.published || (resource.groupId && actor.groupIds.includes(resource.groupId))) relation |= is.use
  for (const grant of resource.grants ?? []) if (appliesTo(grant, actor)) relation |= is[grant.access]
  return relation
}

function appliesTo(grant: PolicyGrant, actor: Principal): boolean {
  if (grant.userId !== undefined) return grant.userId === actor.userId
  return grant.groupId === undefined || actor.groupIds.includes(grant.groupId)
}
