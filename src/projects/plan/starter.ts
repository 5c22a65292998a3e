import { type Caller, decideWithGrants, impersonate, projectResource } from "#access"
import { Failure } from "#contract"
import type { Clock } from "#kit"
import type { ProjectRow, Reads } from "#store"

interface StarterContext {
  store: Parameters<typeof impersonate>[0] & Pick<Reads, "users">
  clock: Clock
}

/**
 * The person who will own a run: the caller, or somebody whom an administrator names. Only the
 * rights of that person count.
 */
export async function resolveStarter({ store, clock }: StarterContext, caller: Caller, userName: string | undefined): Promise<Caller> {
  if (!userName || userName === caller.userName) return caller
  if (!caller.isAdmin) throw new Failure("forbidden", "Only administrators may name somebody else as UserName", { field: "UserName" })
  const starter = await impersonate(store, await store.users.byName(userName), clock.now())
  if (!starter) throw new Failure("invalid", `There is no person called ${JSON.stringify(userName)} who may sign in`, { field: "UserName" })
  return starter
}

/** Throws if the person whom an administrator names could not start the project themselves. */
export async function checkMayStart(reads: Pick<Reads, "grants">, starter: Caller, project: ProjectRow): Promise<void> {
  if ((await decideWithGrants(reads, starter, "project:start", projectResource(project))) === "yes") return
  throw new Failure("invalid", `${starter.userName} may not start this project`, { field: "UserName" })
}
