import { createHash, randomBytes } from "node:crypto"
import { bounds } from "#contract"
import type { Clock } from "#kit"
import type { Change, Reads } from "#store"
import type { Caller } from "../caller.ts"
import { loadCaller, sha256 } from "./load-caller.ts"
import { assertCanWrite, checkExpiry, type NewToken } from "./tokens.ts"

const { tokenCodeMs, tokenCodes } = bounds.accounts

/** One-time codes by which a program gets the token that a person allowed in the browser. */
export interface TokenCodes {
  /** `challenge`: SHA-256 of the program's verifier, base64url. */
  create(tx: Change, caller: Caller, wanted: Required<NewToken> & { challenge: string }): Promise<{ code: string; expiresAt: number }>
  /** Whether a code waits: strangers send any number, and a look costs less than a change. */
  isWaiting(reads: Pick<Reads, "tokenCodes">, code: string): Promise<boolean>
  /**
   * Uses a code. The person as they are now, and the token that they allowed; undefined if the code
   * was used, has expired or has another verifier, or the credential that allowed it has ended. The
   * code is gone in every case, so that nobody tries verifiers.
   */
  use(tx: Change, code: string, verifier: string): Promise<{ caller: Caller; wanted: Required<NewToken> } | undefined>
}

export function createTokenCodes({ clock }: { clock: Clock }): TokenCodes {
  return {
    async create(tx, caller, { challenge, name, expiresAt: tokenExpiresAt, scopes }) {
      assertCanWrite(caller)
      checkExpiry(tokenExpiresAt, clock.now())
      await tx.tokenCodes.deleteExpired(clock.now())
      await tx.tokenCodes.deleteOld(caller.userId, tokenCodes.value - 1)
      const code = randomBytes(32).toString("base64url")
      const expiresAt = clock.now() + tokenCodeMs.value
      const allowed = { name, tokenExpiresAt, scopes: [...scopes], userId: caller.userId, credentialId: caller.credential.id }
      await tx.tokenCodes.insert({ hash: sha256(code), challenge, expiresAt, ...allowed })
      return { code, expiresAt }
    },
    isWaiting: async (reads, code) => (await reads.tokenCodes.byHash(sha256(code))) !== undefined,
    async use(tx, code, verifier) {
      const row = await tx.tokenCodes.byHash(sha256(code))
      if (!row) return undefined
      await tx.tokenCodes.delete(row.hash)
      // Both are digests: their comparison tells nothing about the verifier.
      if (row.expiresAt <= clock.now() || row.challenge !== createHash("sha256").update(verifier).digest("base64url")) return undefined
      const loaded = await loadCaller(tx, row.userId, row.credentialId, clock.now())
      if (!loaded) return undefined
      return { caller: loaded.caller, wanted: { name: row.name, expiresAt: row.tokenExpiresAt, scopes: row.scopes } }
    },
  }
}
