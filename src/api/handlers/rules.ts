import { type Action, type Caller, can, loadGrants, missingResource, type Resource } from "#access"
import { Failure, invalid } from "#contract"
import type { Reads, UserRow } from "#store"
import { notFound } from "./single.ts"

/**
 * Asks the policy; what the caller may not see is 404, what they see but may not do is 403.
 * `resource` undefined: there is none.
 */
export function authorize(caller: Caller, action: Action, asked: { resource: Resource | undefined; what: string }): void {
  const { resource, what } = asked
  const verdict = resource === undefined ? "hidden" : can(caller, action, resource)
  if (verdict === "hidden") throw notFound(what)
  if (verdict === "forbidden") throw forbidden(caller, action, { resource, words: `with this ${what} ` })
}

/** Tells somebody whom only their token keeps from it that another proof would do. */
export function forbidden(caller: Caller, action: Action, asked: { resource?: Resource | undefined; words: string }): Failure {
  const { userName } = caller
  const couldOtherwise = can({ ...caller, scopes: ["read", "write"] }, action, asked.resource) === "yes"
  const msg = couldOtherwise
    ? `This token of ${userName}'s is for reading only (${action})`
    : `${userName} may not do this ${asked.words}(${action})`
  return new Failure("forbidden", msg)
}

/**
 * The resource with its grants: they are read where the answer depends on them, and as if it did
 * where there is nothing, or something deleted: what is hidden costs no other queries than what
 * never was, so that the time of a refusal tells no more than its words.
 */
async function wholeOf(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  action: Action,
  resource: Resource | undefined,
): Promise<Resource | undefined> {
  const isThere = resource !== undefined && !resource.deleted
  const type = action.slice(0, action.indexOf(":")) as Resource["type"]
  const [whole] = await loadGrants(reads, caller, { actions: [action], resources: [isThere ? resource : missingResource(type)] })
  return isThere ? whole : resource
}

/**
 * `authorize` for resources that may be granted, at the same cost whether there is such a resource
 * or not.
 */
export async function authorizeWithGrants(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  action: Action,
  asked: { resource: Resource | undefined; what: string },
): Promise<void> {
  authorize(caller, action, { resource: await wholeOf(reads, caller, action, asked.resource), what: asked.what })
}

/** Whether the caller may do this, at the same cost whether there is such a resource or not. */
export async function isAllowed(
  reads: Pick<Reads, "grants">,
  caller: Caller,
  action: Action,
  resource: Resource | undefined,
): Promise<boolean> {
  const whole = await wholeOf(reads, caller, action, resource)
  return whole !== undefined && can(caller, action, whole) === "yes"
}

/**
 * A reference in a body to something that the caller cannot see or may not use: the same words for
 * hidden and missing.
 */
export function badReference(field: string, what: string, id: number): Failure {
  return new Failure("invalid", `${field} names ${what} ${id}, which does not exist or may not be used`, { field })
}

export type Owner = Pick<UserRow, "id" | "userName">

/** Whom a new resource belongs to: the caller unless an administrator names somebody. */
export async function ownerOf(reads: Pick<Reads, "users">, caller: Caller, userName: string | undefined): Promise<Owner> {
  const name = userName || caller.userName
  if (name === caller.userName) return { id: caller.userId, userName: name }
  if (!caller.isAdmin) {
    throw new Failure("forbidden", "Only administrators may name somebody else as UserName", { field: "UserName" })
  }
  const owner = await reads.users.byName(name)
  if (!owner || owner.deletedAt !== null)
    throw new Failure("invalid", `There is no person called ${JSON.stringify(name)}`, { field: "UserName" })
  return owner
}

/**
 * Whom a resource belongs to from now on, where a body names somebody else than its owner: that is
 * for administrators. Undefined: it stays where it is.
 */
export async function newOwnerOf(
  reads: Pick<Reads, "users">,
  caller: Caller,
  asked: { resource: Resource; userName: string; given: string | undefined },
): Promise<Owner | undefined> {
  if (!asked.given || asked.given === asked.userName) return undefined
  if (can(caller, `${asked.resource.type}:handOver` as Action, asked.resource) !== "yes")
    throw new Failure("forbidden", "Only administrators may hand something over: UserName names another owner", { field: "UserName" })
  return ownerOf(reads, caller, asked.given)
}

/**
 * The group that a project may be given: one that the caller is in, for administrators any.
 * Refusals do not tell whether it exists.
 */
export async function groupOf(reads: Pick<Reads, "groups">, caller: Caller, groupName: string): Promise<{ id: number }> {
  if (groupName === "") return { id: 0 }
  const group = await reads.groups.byName(groupName)
  if (!group || group.deletedAt !== null || !(caller.isAdmin || caller.groupIds.includes(group.id))) {
    throw invalid("GroupName", caller.isAdmin ? "a group that exists" : `a group that ${caller.userName} is in`, groupName)
  }
  return { id: group.id }
}
