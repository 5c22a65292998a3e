import { type FairScheduler, Yielder } from "#kit"
import type { RightsCache } from "../access/rights-cache.ts"
import { joinPath } from "../requests/address.ts"
import type { Lock, LockTable } from "./lock-table.ts"

/** The part of a request that asks about locks. */
interface LockRequester {
  readonly context: { locks: LockTable; rights: RightsCache; scheduler: FairScheduler }
  readonly userId: number
}

/**
 * Releases those of the locks whose holders may no longer write at their paths: a lock must not
 * outlive the right to change the entry. The answers come from the cache of rights.
 */
export async function releaseStaleLocks({ context, userId }: LockRequester, found: Iterable<Lock>): Promise<void> {
  const { locks, rights, scheduler } = context
  const yielder = new Yielder(scheduler, userId)
  for (const lock of found) {
    const names = lock.path.split("/").filter((name) => name !== "")
    if ((await rights.level(lock.userId, names, "write")) !== "write") locks.release(lock)
    await yielder.pause()
  }
}

/** Releases the stale locks that apply to a change of this entry or of anything below it. */
export async function releaseStaleLocksAround(request: LockRequester, names: readonly string[]): Promise<void> {
  const { locks } = request.context
  const path = joinPath(names)
  const ofParent = names.length > 0 ? locks.locksAt(joinPath(names.slice(0, -1))) : []
  const found = new Set([...locks.locksBinding(path), ...ofParent, ...locks.locksBelow(path)])
  if (found.size > 0) await releaseStaleLocks(request, found)
}
