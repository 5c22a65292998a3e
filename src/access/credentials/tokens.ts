import { randomBytes } from "node:crypto"
import { Failure } from "#contract"
import type { Clock } from "#kit"
import type { Change, TokenRow } from "#store"
import type { Caller, Scope } from "../caller.ts"
import { loadCaller, sha256 } from "./load-caller.ts"

export interface NewToken {
  name: string
  /** Milliseconds since the epoch; null: never. */
  expiresAt: number | null
  /** `read`; `read` and `write`; or `run:<ID>` alone. Default: `read` and `write`. */
  scopes?: readonly string[]
}

export interface Tokens {
  /**
   * The secret (`qs_` and 43 characters) is returned only here. A credential never creates a token
   * with more rights than its own.
   */
  create(tx: Change, caller: Caller, wanted: NewToken): Promise<{ row: TokenRow; token: string }>
  /** Deletes a token of the caller; other people's tokens are `not_found`. */
  delete(tx: Change, caller: Caller, id: number): Promise<TokenRow>
}

export function createTokens({
  clock,
  invalidateAfterCommit,
}: {
  clock: Clock
  invalidateAfterCommit: (tx: Change, userId: number) => void
}): Tokens {
  return {
    async create(tx, caller, wanted) {
      const scopes = checkScopes(wanted.scopes ?? ["read", "write"])
      checkExpiry(wanted.expiresAt, clock.now())
      assertCanWrite(caller)
      const own = await loadCaller(tx, caller.userId, caller.credential.id, clock.now())
      if (!own) throw new Failure("unauthorized", "The credentials of this request have ended meanwhile")
      if (caller.credential.kind === "token" && (wanted.expiresAt ?? Number.POSITIVE_INFINITY) > own.validUntil) {
        throw new Failure("forbidden", "A token cannot create one that lasts longer than itself", { field: "ExpiresAt" })
      }
      const token = `qs_${randomBytes(32).toString("base64url")}`
      const row = await tx.tokens.insert({
        userId: caller.userId,
        name: wanted.name,
        hash: sha256(token),
        expiresAt: wanted.expiresAt,
        scopes,
      })
      return { row, token }
    },
    async delete(tx, caller, id) {
      assertCanWrite(caller)
      const row = await tx.tokens.get(id)
      if (row?.userId !== caller.userId) throw new Failure("not_found", `There is no token ${id}`)
      await tx.tokens.delete(id)
      invalidateAfterCommit(tx, caller.userId)
      return row
    },
  }
}

export function assertCanWrite({ scopes }: Caller): void {
  if (!scopes.includes("write"))
    throw new Failure("forbidden", `Credentials with the scope ${scopes.join(" and ")} alone can neither create nor delete tokens`)
}

export function checkExpiry(expiresAt: number | null, now: number): void {
  if (expiresAt === null) return
  if (!Number.isFinite(expiresAt) || expiresAt <= now) {
    const came = Number.isFinite(expiresAt) ? new Date(expiresAt).toISOString() : "no time"
    throw new Failure(
      "invalid",
      `ExpiresAt must be a time in the future, or null; got ${came}, and now is ${new Date(now).toISOString()}`,
      {
        field: "ExpiresAt",
      },
    )
  }
}

function checkScopes(scopes: readonly string[]): Scope[] {
  const form = [...new Set(scopes)].sort().join(" ")
  if (form === "read" || form === "read write" || /^run:[1-9]\d{0,15}$/.test(form)) return form.split(" ") as Scope[]
  throw new Failure("invalid", 'Scopes must be ["read"], ["read", "write"] or ["run:<ID>"]', { field: "Scopes" })
}
