import type { Clock, Logger } from "#kit"
import type { Change, Store } from "#store"
import { type Accounts, createAccounts } from "./accounts/accounts.ts"
import { ensureAdmin } from "./accounts/first-admin.ts"
import type { Caller, Refusal } from "./caller.ts"
import { Authenticator } from "./credentials/authenticator.ts"
import { CallerCache } from "./credentials/caller-cache.ts"
import { signFilesToken } from "./credentials/files-token.ts"
import { createSessions, type Sessions } from "./credentials/sessions.ts"
import { TokenUsageRecorder } from "./credentials/token-usage.ts"
import { createTokens, type Tokens } from "./credentials/tokens.ts"
import { PasswordChecker } from "./passwords/password-checker.ts"
import { checkNewPassword, PasswordHasher, type PasswordHasherOptions } from "./passwords/password-hasher.ts"

/**
 * Where several processes may share the database, a proof ended by another one is found out within
 * this time.
 */
const freshMs = { sqlite: 60_000, postgres: 2_000 } as const

export interface IdentityOptions {
  store: Store
  clock: Clock
  logger: Logger
  /**
   * `files`: at least 32 random bytes that all processes of this installation share; signs tokens
   * for the files address.
   */
  keys: { files: Uint8Array }
  hashing?: PasswordHasherOptions
  /**
   * Longest age of a cached caller in milliseconds. Default: 2,000 where several processes may
   * share the database (PostgreSQL), else 60,000.
   */
  maxCacheAgeMs?: number
}

/** Turns proofs into callers, and makes and ends what proves. */
export interface Identity extends AsyncDisposable {
  /**
   * The caller, when header or cookie secret are known from before; undefined means "ask
   * `identify`". Costs a hash of the token and a lookup.
   */
  authenticateCached(authorization: string | undefined, session: string | undefined, address: string): Caller | undefined
  /**
   * A header counts before a session, and a wrong one is not made good by a session. `address` is
   * the caller's, after trusted proxies.
   */
  authenticate(authorization: string | undefined, session: string | undefined, address: string): Promise<Caller | Refusal>
  /**
   * For the files address: also takes its own tokens; refuses (403) tokens that open only a run.
   */
  authenticateForFiles(authorization: string | undefined, address: string): Promise<Caller | Refusal>
  /**
   * A name with its password, no token; for making a session, and for asking a person once more.
   */
  checkPassword(userName: string, password: string, address: string): Promise<Caller | Refusal>
  /**
   * The caller of an earlier proof as they are now; undefined when the proof has ended or the
   * person may no longer sign in.
   */
  refreshCaller(userId: number, credentialId: string): Promise<Caller | undefined>

  /**
   * A PHC string for `UserRow.passwordHash`; throws `Failure` (`invalid`, `Password`) on what
   * cannot be one. Before the change, never within it.
   */
  hashPassword(password: string): Promise<string>
  createFilesToken(caller: Caller): { token: string; expiresAt: number }
  /**
   * Makes the administrator `admin` when there is nobody at all. Without a password one is
   * generated, given to `announce` before it counts, and returned; undefined when there was nothing
   * to generate.
   */
  ensureAdmin(password?: string, announce?: (generated: string) => void): Promise<string | undefined>

  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly sessions: Sessions

  /**
   * Drops what is remembered about these people: their next request is read from the database
   * again.
   */
  invalidate(...userIds: number[]): void
  /** After changes of groups, which concern many. */
  invalidateAll(): void
  /**
   * From now on nobody's password is checked or made any more, and whoever waits for that is
   * refused (503). Proofs that need no hash go on.
   */
  stopPasswordChecks(): void
  /**
   * Calls back at every `forget` (the IDs) and `forgetAll` (undefined), so that others drop what
   * they remember.
   */
  onInvalidate(listener: (userIds: readonly number[] | undefined) => void): Disposable
}

export function createIdentity(options: IdentityOptions): Identity {
  const { store, clock, logger, keys } = options
  if (keys.files.length < 32) throw new TypeError(`A key of at least 32 bytes is wanted, got ${keys.files.length}`)
  const callers = new CallerCache(clock, options.maxCacheAgeMs ?? freshMs[store.dialect])
  const lastUsed = new TokenUsageRecorder({ store, clock, logger })
  const hasher = new PasswordHasher(options.hashing)
  const passwords = new PasswordChecker({ store, clock, hasher })
  const proofs = new Authenticator({ store, clock, callers, passwords, lastUsed, filesKey: keys.files })
  const listeners = new Set<(userIds: readonly number[] | undefined) => void>()
  const invalidate = (...userIds: number[]) => {
    callers.invalidate(new Set(userIds))
    for (const tell of listeners) tell(userIds)
  }
  const invalidateAfterCommit = (tx: Change, userId: number) => tx.afterCommit(() => invalidate(userId))
  const accounts = createAccounts({ invalidateAfterCommit })
  const hashPassword = async (password: string) => {
    checkNewPassword(password)
    return hasher.hash(password)
  }
  return {
    authenticateCached: (authorization, session, address) => proofs.authenticateCached(authorization, session, address),
    authenticate: (authorization, session, address) => proofs.identify(authorization, session, address),
    authenticateForFiles: (authorization, address) => proofs.authenticateForFiles(authorization, address),
    checkPassword: (userName, password, address) => proofs.checkPassword(userName, password, address),
    refreshCaller: (userId, credentialId) => proofs.recall(userId, credentialId),
    hashPassword,
    createFilesToken: (caller) => signFilesToken(keys.files, caller, clock.now()),
    ensureAdmin: (password, announce) => ensureAdmin({ store, identity: { accounts, hashPassword }, announce }, password),
    accounts,
    tokens: createTokens({ clock, invalidateAfterCommit }),
    sessions: createSessions({ clock, invalidateAfterCommit }),
    invalidate,
    invalidateAll() {
      callers.invalidateAll()
      for (const tell of listeners) tell(undefined)
    },
    onInvalidate(listener) {
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
    stopPasswordChecks: () => hasher.close(),
    async [Symbol.asyncDispose]() {
      await hasher[Symbol.asyncDispose]()
      await lastUsed[Symbol.asyncDispose]()
    },
  }
}
