import { type Action, type Caller, can, type Resource } from "#access"
import { Failure, invalid } from "#contract"
import type { Reads, UserRow } from "#store"

/**
 * A reference in a body to something that the caller cannot see or may not use: the same words for
 * hidden and missing.
 */
export function invalidReference(field: string, what: string, id: number): Failure {
  return new Failure("invalid", `${field} names ${what} ${id}, which does not exist or may not be used`, { field })
}

export type Owner = Pick<UserRow, "id" | "userName">

/** Whom a new resource belongs to: the caller unless an administrator names somebody. */
export async function resolveOwner(reads: Pick<Reads, "users">, caller: Caller, userName: string | undefined): Promise<Owner> {
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
export async function resolveNewOwner(
  reads: Pick<Reads, "users">,
  caller: Caller,
  asked: { resource: Resource; userName: string; given: string | undefined },
): Promise<Owner | undefined> {
  if (!asked.given || asked.given === asked.userName) return undefined
  if (can(caller, `${asked.resource.type}:handOver` as Action, asked.resource) !== "yes")
    throw new Failure("forbidden", "Only administrators may hand something over: UserName names another owner", { field: "UserName" })
  return resolveOwner(reads, caller, asked.given)
}

/**
 * The group that a project may be given: one that the caller is in, for administrators any.
 * Refusals do not tell whether it exists.
 */
export async function resolveGroup(reads: Pick<Reads, "groups">, caller: Caller, groupName: string): Promise<{ id: number }> {
  if (groupName === "") return { id: 0 }
  const group = await reads.groups.byName(groupName)
  if (!group || group.deletedAt !== null || !(caller.isAdmin || caller.groupIds.includes(group.id))) {
    throw invalid("GroupName", caller.isAdmin ? "a group that exists" : `a group that ${caller.userName} is in`, groupName)
  }
  return { id: group.id }
}
