import type { Reads, UserRow } from "#store"
import type { Caller } from "../caller.ts"
import { loadCaller, passwordCredential } from "../credentials/load-caller.ts"

/**
 * A person as they would be had they signed in: for what is done in their name. Undefined when they
 * could not sign in.
 */
export async function impersonate(
  reads: Pick<Reads, "users" | "groups" | "tokens" | "sessions">,
  user: UserRow | undefined,
  now: number,
): Promise<Caller | undefined> {
  return user && (await loadCaller(reads, user.id, passwordCredential(user).id, now))?.caller
}

/**
 * The owner of something as the policy judges a use that others make of it: by what is theirs,
 * published or granted. An administrator's right to everything does not count: nobody borrows it.
 * Disabled and deleted people still own what they own.
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
