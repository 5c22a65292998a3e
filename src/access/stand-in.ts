import type { Reads, UserRow } from "#store"
import type { Caller } from "./caller.ts"
import { loadCaller, passwordProof } from "./recall.ts"

/** A person as they would be had they signed in: for what is done in their name. Undefined when they could not sign in. */
export async function standIn(
  reads: Pick<Reads, "users" | "groups" | "tokens" | "sessions">,
  user: UserRow | undefined,
  now: number,
): Promise<Caller | undefined> {
  return user && (await loadCaller(reads, user.id, passwordProof(user).id, now))?.caller
}
