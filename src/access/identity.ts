import type { Clock, Logger } from "#kit"
import type { Change, Store } from "#store"
import { createPeople, type People } from "./accounts/accounts.ts"
import { ensureAdmin } from "./accounts/first-admin.ts"
import type { Caller, Refusal } from "./caller.ts"
import { Proofs } from "./credentials/authenticator.ts"
import { Callers } from "./credentials/caller-cache.ts"
import { signFilesToken } from "./credentials/files-token.ts"
import { createSessions, type Sessions } from "./credentials/sessions.ts"
import { LastUsed } from "./credentials/token-usage.ts"
import { createTokens, type Tokens } from "./credentials/tokens.ts"
import { PasswordCheck } from "./passwords/password-checker.ts"
import { checkNewPassword, Hasher, type HasherOptions } from "./passwords/password-hasher.ts"

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
  hashing?: HasherOptions
  /**
   * Longest age of a cached caller in milliseconds. Default: 2,000 where several processes may
   * share the database (PostgreSQL), else 60,000.
   */
  freshMs?: number
}

/** Turns proofs into callers, and makes and ends what proves. */
export interface Identity extends AsyncDisposable {
  /**
   * The caller, when header or cookie secret are known from before; undefined means "ask
   * `identify`". Costs a hash of the token and a lookup.
   */
  identifyCached(authorization: string | undefined, session: string | undefined, address: string): Caller | undefined
  /**
   * A header counts before a session, and a wrong one is not made good by a session. `address` is
   * the caller's, after trusted proxies.
   */
  identify(authorization: string | undefined, session: string | undefined, address: string): Promise<Caller | Refusal>
  /**
   * For the files address: also takes its own tokens; refuses (403) tokens that open only a run.
   */
  identifyForFiles(authorization: string | undefined, address: string): Promise<Caller | Refusal>
  /**
   * A name with its password, no token; for making a session, and for asking a person once more.
   */
  checkPassword(userName: string, password: string, address: string): Promise<Caller | Refusal>
  /**
   * The caller of an earlier proof as they are now; undefined when the proof has ended or the
   * person may no longer sign in.
   */
  recall(userId: number, proofId: string): Promise<Caller | undefined>

  /**
   * A PHC string for `UserRow.passwordHash`; throws `Failure` (`invalid`, `Password`) on what
   * cannot be one. Before the change, never within it.
   */
  hashPassword(password: string): Promise<string>
  filesToken(caller: Caller): { token: string; expiresAt: number }
  /**
   * Makes the administrator `admin` when there is nobody at all. Without a password one is
   * generated, given to `announce` before it counts, and returned; undefined when there was nothing
   * to generate.
   */
  ensureAdmin(password?: string, announce?: (generated: string) => void): Promise<string | undefined>

  readonly people: People
  readonly tokens: Tokens
  readonly sessions: Sessions

  /**
   * Drops what is remembered about these people: their next request is read from the database
   * again.
   */
  forget(...userIds: number[]): void
  /** After changes of groups, which concern many. */
  forgetAll(): void
  /**
   * From now on nobody's password is checked or made any more, and whoever waits for that is
   * refused (503). Proofs that need no hash go on.
   */
  closePasswords(): void
  /**
   * Calls back at every `forget` (the IDs) and `forgetAll` (undefined), so that others drop what
   * they remember.
   */
  onForget(listener: (userIds: readonly number[] | undefined) => void): Disposable
}

export function createIdentity(options: IdentityOptions): Identity {
  const { store, clock, logger, keys } = options
  if (keys.files.length < 32) throw new TypeError(`A key of at least 32 bytes is wanted, got ${keys.files.length}`)
  const callers = new Callers(clock, options.freshMs ?? freshMs[store.dialect])
  const lastUsed = new LastUsed({ store, clock, logger })
  const hasher = new Hasher(options.hashing)
  const passwords = new PasswordCheck({ store, clock, hasher })
  const proofs = new Proofs({ store, clock, callers, passwords, lastUsed, filesKey: keys.files })
  const listeners = new Set<(userIds: readonly number[] | undefined) => void>()
  const forget = (...userIds: number[]) => {
    callers.forget(new Set(userIds))
    for (const tell of listeners) tell(userIds)
  }
  const forgetAfter = (tx: Change, userId: number) => tx.afterCommit(() => forget(userId))
  const people = createPeople({ forgetAfter })
  const hashPassword = async (password: string) => {
    checkNewPassword(password)
    return hasher.hash(password)
  }
  return {
    identifyCached: (authorization, session, address) => proofs.identifyCached(authorization, session, address),
    identify: (authorization, session, address) => proofs.identify(authorization, session, address),
    identifyForFiles: (authorization, address) => proofs.identifyForFiles(authorization, address),
    checkPassword: (userName, password, address) => proofs.checkPassword(userName, password, address),
    recall: (userId, proofId) => proofs.recall(userId, proofId),
    hashPassword,
    filesToken: (caller) => signFilesToken(keys.files, caller, clock.now()),
    ensureAdmin: (password, announce) => ensureAdmin({ store, identity: { people, hashPassword }, announce }, password),
    people,
    tokens: createTokens({ clock, forgetAfter }),
    sessions: createSessions({ clock, forgetAfter }),
    forget,
    forgetAll() {
      callers.forgetAll()
      for (const tell of listeners) tell(undefined)
    },
    onForget(listener) {
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
    closePasswords: () => hasher.close(),
    async [Symbol.asyncDispose]() {
      await hasher[Symbol.asyncDispose]()
      await lastUsed[Symbol.asyncDispose]()
    },
  }
}
