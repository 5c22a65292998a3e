import type { Reads } from "#store"
import type { Caller } from "./caller.ts"
import { loadCaller, passwordProof } from "./recall.ts"

/** A person as they would be had they signed in: for what an administrator does in their name. Undefined when they could not sign in. */
export async function standIn(
  reads: Pick<Reads, "users" | "groups" | "tokens" | "sessions">,
  userName: string,
  now: number,
): Promise<Caller | undefined> {
  const user = await reads.users.byName(userName)
  return user && (await loadCaller(reads, user.id, passwordProof(user).id, now))?.caller
}
