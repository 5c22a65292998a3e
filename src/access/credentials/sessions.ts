import { randomBytes } from "node:crypto"
import { bounds, Failure } from "#contract"
import type { Clock } from "#kit"
import type { Change, Reads, SessionRow } from "#store"
import { type Caller, type Credential, sessionHashOf } from "../caller.ts"
import { loadCaller, sha256 } from "./load-caller.ts"

/** Counted from sign-in, regardless of use. */
export const sessionLifetimeMs = bounds.accounts.sessionDays.value * 24 * 60 * 60_000

/** The marks by which a person recognizes a session. */
export interface SessionDevice {
  /** The address of the sign-in. */
  address: string
  /** `User-Agent`, of which a bounded part is stored. */
  browser: string | undefined
}

export interface Sessions {
  /**
   * Creates a session with a new secret for a person who just signed in. The browser's earlier
   * session (`previous`, its secret) ends.
   */
  create(tx: Change, caller: Caller, device: SessionDevice, previous?: string): Promise<{ secret: string; row: SessionRow }>
  /** Whether there is a session with this secret: a look costs less than a change. */
  exists(reads: Pick<Reads, "sessions">, secret: string): Promise<boolean>
  /** Ends the session with this secret; undefined when there is none. */
  endBySecret(tx: Change, secret: string): Promise<SessionRow | undefined>
  end(tx: Change, session: SessionRow): Promise<void>
  /** Ends the person's sessions, but that of this credential. Returns their IDs. */
  endAll(tx: Change, userId: number, except?: Credential): Promise<number[]>
  /**
   * Whether this sign-in may use the space that the database reserves for a full disk. `who` is an
   * opaque key of one person. Each call counts, so that repeated sign-ins cannot use up the
   * reserve.
   */
  tryUseReserve(who: string): boolean
}

const { urgentSignIns } = bounds.storage
const maxBrowserCharacters = bounds.accounts.browserCharacters.value
const allowanceMs = 600_000

export function createSessions({
  clock,
  invalidateAfterCommit,
}: {
  clock: Clock
  invalidateAfterCommit: (tx: Change, userId: number) => void
}): Sessions {
  const end = async (tx: Change, session: SessionRow) => {
    await tx.sessions.delete(session.hash)
    invalidateAfterCommit(tx, session.userId)
  }
  const endBySecret = async (tx: Change, secret: string) => {
    const row = await tx.sessions.byHash(sha256(secret))
    if (row) await end(tx, row)
    return row
  }
  const counted = new Map<string, { count: number; until: number }>()
  return {
    async create(tx, caller, { address, browser = "" }, previous) {
      // The account may have been disabled, or the password changed, since the check.
      if (!(await loadCaller(tx, caller.userId, caller.credential.id, clock.now()))) {
        throw new Failure("unauthorized", "The account is disabled, or its password was changed meanwhile")
      }
      await tx.sessions.deleteExpired(clock.now())
      if (previous !== undefined) await endBySecret(tx, previous)
      if ((await tx.sessions.deleteOld(caller.userId, bounds.rates.sessions.value - 1)) > 0) invalidateAfterCommit(tx, caller.userId)
      const secret = randomBytes(32).toString("base64url")
      const row = await tx.sessions.insert({
        hash: sha256(secret),
        userId: caller.userId,
        expiresAt: clock.now() + sessionLifetimeMs,
        address,
        browser: browser.slice(0, maxBrowserCharacters),
      })
      return { secret, row }
    },
    exists: async (reads, secret) => (await reads.sessions.byHash(sha256(secret))) !== undefined,
    endBySecret,
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
    async endAll(tx, userId, except) {
      const ended = await tx.sessions.deleteOfUser(userId, except && sessionHashOf(except))
      invalidateAfterCommit(tx, userId)
      return ended
    },
  }
}
