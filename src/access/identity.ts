import type { Clock, Logger } from "#kit"
import type { Change, Store } from "#store"
import { type Accounts, createAccounts } from "./accounts/accounts.ts"
import { ensureAdmin } from "./accounts/first-admin.ts"
import type { AuthenticationFailure, Caller } from "./caller.ts"
import { Authenticator } from "./credentials/authenticator.ts"
import { CallerCache } from "./credentials/caller-cache.ts"
import { CredentialUsageRecorder } from "./credentials/credential-usage.ts"
import { signFilesToken } from "./credentials/files-token.ts"
import { createSessions, type Sessions } from "./credentials/sessions.ts"
import { createTokenCodes, type TokenCodes } from "./credentials/token-codes.ts"
import { createTokens, type Tokens } from "./credentials/tokens.ts"
import { PasswordChecker } from "./passwords/password-checker.ts"
import { checkNewPassword, PasswordHasher, type PasswordHasherOptions } from "./passwords/password-hasher.ts"

/** The end of a credential invalidates the cache, also by a notice of another process. */
const freshMs = 60_000
/** The longest time until a process notices that, while notices of others do not arrive. */
const unnoticedFreshMs = 2_000

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
   * Longest age of a cached caller in milliseconds. Default: 60,000, and 2,000 while changes by
   * other processes are not told (PostgreSQL).
   */
  maxCacheAgeMs?: number
}

/** Authenticates requests; creates and ends credentials. */
export interface Identity extends AsyncDisposable {
  /**
   * The caller from the cache; undefined means that `authenticate` must be called. Costs one hash
   * of the token and one lookup.
   */
  authenticateCached(authorization: string | undefined, session: string | undefined, address: string): Caller | undefined
  /**
   * A header takes precedence over a session: a valid session does not make up for a wrong header.
   * `address` is the caller's, after trusted proxies.
   */
  authenticate(authorization: string | undefined, session: string | undefined, address: string): Promise<Caller | AuthenticationFailure>
  /**
   * For the files address: also accepts files tokens; rejects (403) tokens that open only a run.
   * `begunAs`: for a request that began with this credential. Its header is not checked again: a
   * files token may have expired since, and after wrong passwords a right one is not checked.
   */
  authenticateForFiles(
    authorization: string | undefined,
    address: string,
    options?: { begunAs?: { userId: number; credentialId: string } },
  ): Promise<Caller | AuthenticationFailure>
  /**
   * Checks a name with its password, never a token. For sign-in, and for confirmation by the
   * person.
   */
  checkPassword(userName: string, password: string, address: string): Promise<Caller | AuthenticationFailure>
  /**
   * The caller of an earlier credential as they are now; undefined when the credential has ended or
   * the person can no longer sign in.
   */
  refreshCaller(userId: number, credentialId: string): Promise<Caller | undefined>
  /** The number of invalidations so far, for `isInvalidatedSince`. */
  invalidations(): number
  /** Whether the person's callers were invalidated after that number of invalidations. */
  isInvalidatedSince(userId: number, invalidations: number): boolean

  /**
   * A PHC string for `UserRow.passwordHash`; throws `Failure` (`invalid`, `Password`) if the
   * password is not acceptable. Call it before a transaction, never within one.
   */
  hashPassword(password: string): Promise<string>
  createFilesToken(caller: Caller): { token: string; expiresAt: number }
  /**
   * Creates the administrator `admin` when there is no account at all. Without a password it
   * generates one, passes it to `announce` before the account exists, and returns it. Returns
   * undefined when it generated none.
   */
  ensureAdmin(password?: string, announce?: (generated: string) => void): Promise<string | undefined>

  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly tokenCodes: TokenCodes
  readonly sessions: Sessions

  /**
   * Drops these people's cached callers: their next request reads the database.
   */
  invalidate(...userIds: number[]): void
  /** For changes of groups, which concern many people. */
  invalidateAll(): void
  /**
   * Rejects waiting and new password checks and hashes with 503. Credentials that need no hash
   * still work.
   */
  stopPasswordChecks(): void
  /**
   * Calls the listener at every `invalidate` (with the IDs) and `invalidateAll` (undefined), so
   * that other caches can be invalidated.
   */
  onInvalidate(listener: (userIds: readonly number[] | undefined) => void): Disposable
}

export function createIdentity(options: IdentityOptions): Identity {
  const { store, clock, logger, keys } = options
  if (keys.files.length < 32) throw new TypeError(`keys.files must have at least 32 bytes; got ${keys.files.length}`)
  const { notices } = store
  const maxAgeMs = () => options.maxCacheAgeMs ?? (!notices || notices.isListening ? freshMs : unnoticedFreshMs)
  const callers = new CallerCache(clock, maxAgeMs)
  const lastUsed = new CredentialUsageRecorder({ store, clock, logger })
  const hasher = new PasswordHasher(options.hashing)
  const passwords = new PasswordChecker({ store, clock, hasher })
  const authenticator = new Authenticator({ store, clock, callers, passwords, lastUsed, filesKey: keys.files })
  const listeners = new Set<(userIds: readonly number[] | undefined) => void>()
  const invalidate = (...userIds: number[]) => {
    callers.invalidate(new Set(userIds))
    for (const listener of listeners) listener(userIds)
  }
  const invalidateAfterCommit = (tx: Change, userId: number) => tx.afterCommit(() => invalidate(userId))
  const accounts = createAccounts({ invalidateAfterCommit })
  const hashPassword = async (password: string) => {
    checkNewPassword(password)
    return hasher.hash(password)
  }
  return {
    authenticateCached: (authorization, session, address) => authenticator.authenticateCached(authorization, session, address),
    authenticate: (authorization, session, address) => authenticator.authenticate(authorization, session, address),
    authenticateForFiles: (authorization, address, options) => authenticator.authenticateForFiles(authorization, address, options),
    checkPassword: (userName, password, address) => authenticator.checkPassword(userName, password, address),
    refreshCaller: (userId, credentialId) => authenticator.refreshCaller(userId, credentialId),
    invalidations: () => callers.invalidations,
    isInvalidatedSince: (userId, invalidations) => callers.isInvalidatedSince(userId, invalidations),
    hashPassword,
    createFilesToken: (caller) => signFilesToken(keys.files, caller, clock.now()),
    ensureAdmin: (password, announce) => ensureAdmin({ store, identity: { accounts, hashPassword }, announce }, password),
    accounts,
    tokens: createTokens({ clock, invalidateAfterCommit }),
    tokenCodes: createTokenCodes({ clock }),
    sessions: createSessions({ clock, invalidateAfterCommit }),
    invalidate,
    invalidateAll() {
      callers.invalidateAll()
      for (const listener of listeners) listener(undefined)
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
