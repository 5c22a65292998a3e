import { randomBytes } from "node:crypto"
import { bounds, Failure } from "#contract"
import type { Clock } from "#kit"
import type { Change, SessionRow } from "#store"
import type { Caller } from "../caller.ts"
import { loadCaller, sha256 } from "./load-caller.ts"

/** From sign-in, however much or little the session is used. */
export const sessionLifetimeMs = bounds.accounts.sessionDays.value * 24 * 60 * 60_000

export interface Sessions {
  /**
   * A session with a secret of its own for who just signed in; the one that the browser came with
   * (`previous`, its secret) ends.
   */
  create(tx: Change, caller: Caller, previous?: string): Promise<{ secret: string; row: SessionRow }>
  /** Ends the session with this secret; false when there is none. */
  end(tx: Change, secret: string): Promise<boolean>
  endAll(tx: Change, userId: number): Promise<void>
  /**
   * Whether this sign-in may use the room that the database keeps back for a full disk. `who` is
   * opaque, and one person's. Counted: nobody uses the room up by signing in again and again.
   */
  tryUseReserve(who: string): boolean
}

const { urgentSignIns } = bounds.storage
const allowanceMs = 600_000

export function createSessions({
  clock,
  invalidateAfterCommit,
}: {
  clock: Clock
  invalidateAfterCommit: (tx: Change, userId: number) => void
}): Sessions {
  const end = async (tx: Change, secret: string) => {
    const row = await tx.sessions.byHash(sha256(secret))
    if (!row) return false
    await tx.sessions.delete(row.hash)
    invalidateAfterCommit(tx, row.userId)
    return true
  }
  const counted = new Map<string, { count: number; until: number }>()
  return {
    async create(tx, caller, previous) {
      // The person may have been disabled, or the password changed, since it was checked.
      if (!(await loadCaller(tx, caller.userId, caller.credential.id, clock.now()))) {
        throw new Failure("unauthorized", "The user name is disabled, or its password was changed meanwhile")
      }
      await tx.sessions.deleteExpired(clock.now())
      if (previous !== undefined) await end(tx, previous)
      if ((await tx.sessions.deleteOld(caller.userId, bounds.rates.sessions.value - 1)) > 0) invalidateAfterCommit(tx, caller.userId)
      const secret = randomBytes(32).toString("base64url")
      const row = await tx.sessions.insert({ hash: sha256(secret), userId: caller.userId, expiresAt: clock.now() + sessionLifetimeMs })
      return { secret, row }
    },
    end,
    tryUseReserve(who) {
      const now = clock.now()
      for (const [each, { until }] of counted) {
        if (until > now) break
        counted.delete(each)
      }
      const known = counted.get(who) ?? { count: 0, until: now + allowanceMs }
      counted.set(who, known)
      known.count += 1
      return known.count <= urgentSignIns.value
    },
    async endAll(tx, userId) {
      await tx.sessions.deleteOfUser(userId)
      invalidateAfterCommit(tx, userId)
    },
  }
}
