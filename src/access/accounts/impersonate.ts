import type { Reads, UserRow } from "#store"
import type { Caller } from "../caller.ts"
import { loadCaller, passwordCredential } from "../credentials/load-caller.ts"

/**
 * The caller that this person would be after signing in, for actions in their name. Undefined when
 * they cannot sign in.
 */
export async function impersonate(
  reads: Pick<Reads, "users" | "groups" | "tokens" | "sessions">,
  user: UserRow | undefined,
  now: number,
): Promise<Caller | undefined> {
  return user && (await loadCaller(reads, user.id, passwordCredential(user).id, now))?.caller
}

/**
 * The owner as the policy judges them when others use their resource: by ownership, publication and
 * grants. An administrator's right to everything does not count: nobody borrows it. Disabled and
 * deleted people still own their resources.
 */
export async function ownerAsCaller(reads: Pick<Reads, "groups">, owner: { id: number; userName: string }): Promise<Caller> {
  const groups = await reads.groups.ofUser(owner.id)
  return {
    userId: owner.id,
    userName: owner.userName,
    isAdmin: false,
    groupIds: groups.map((group) => group.id),
    groupNames: groups.map((group) => group.groupName),
    scopes: ["read", "write"],
    credential: { kind: "password", id: "password:" },
  }
}
