import { createHmac, createSecretKey, randomBytes } from "node:crypto"
import { accountNameError } from "#contract"
import type { Clock } from "#kit"
import type { Notices, Store, UserRow } from "#store"
import { AuthenticationFailure, invalidCredentials } from "../caller.ts"
import { maxPasswordBytes } from "../credentials/authorization-header.ts"
import { isActiveUser } from "../credentials/load-caller.ts"
import type { PasswordHasher } from "./password-hasher.ts"
import { SignInLimiter } from "./sign-in-limiter.ts"
import { PasswordThrottle, type SharedAttempts, type SignInAttempt } from "./throttle.ts"

/**
 * Checks a name with its password: slowly, few at a time, and equally long for unknown and known
 * names.
 */
export class PasswordChecker {
  readonly #store: Store
  readonly #clock: Clock
  readonly #hasher: PasswordHasher
  readonly #throttle: PasswordThrottle
  readonly #dummy: string
  readonly #limit = new SignInLimiter()
  readonly #key = createSecretKey(randomBytes(32))
  readonly #pendingChecks = new Map<string, Promise<UserRow | AuthenticationFailure>>()

  constructor({ store, clock, hasher }: { store: Store; clock: Clock; hasher: PasswordHasher }) {
    this.#store = store
    this.#clock = clock
    this.#hasher = hasher
    this.#dummy = hasher.dummyHash()
    this.#throttle = new PasswordThrottle(clock, store.notices && sharedAttempts(store.notices))
  }

  /**
   * Returns the row whose password matched, as read before the hash. The row may have changed in
   * the queue: callers read the account again by `passwordCredential` of this row, which ends with
   * that password. Concurrent checks of the same name, password and address share one hash.
   */
  check(credentials: { userName: string; password: string }, address: string): Promise<UserRow | AuthenticationFailure> {
    const words = JSON.stringify([credentials.userName, credentials.password, address])
    const key = createHmac("sha256", this.#key).update(words).digest("latin1")
    const running = this.#pendingChecks.get(key)
    if (running) return running
    const pending = this.#checkOnce(credentials, address).finally(() => this.#pendingChecks.delete(key))
    this.#pendingChecks.set(key, pending)
    return pending
  }

  async #checkOnce(
    { userName, password }: { userName: string; password: string },
    address: string,
  ): Promise<UserRow | AuthenticationFailure> {
    if (Buffer.byteLength(password) > maxPasswordBytes) {
      return new AuthenticationFailure(
        "unauthorized",
        `A password of at most ${maxPasswordBytes} bytes goes with a user name; a longer one came`,
      )
    }
    const attempt = this.#throttle.startAttempt(userName, address)
    try {
      attempt.assertAllowed()
      using _slot = this.#limit.acquire(attempt)
      if (attempt.delayMs > 0) await this.#clock.sleep(attempt.delayMs)
      return await this.#verify({ userName, password }, attempt)
    } catch (error) {
      if (error instanceof AuthenticationFailure) return error
      throw error
    }
  }

  /**
   * Whether a check would be rejected for too many wrong passwords. Call it before answering from a
   * cache: otherwise the response would reveal a right guess.
   */
  isThrottled(userName: string, address: string): boolean {
    return this.#throttle.isBlocked(userName, address)
  }

  async #verify(
    { userName, password }: { userName: string; password: string },
    attempt: SignInAttempt,
  ): Promise<UserRow | AuthenticationFailure> {
    const user = accountNameError(userName) === undefined ? await this.#store.users.byName(userName) : undefined
    const known = user?.passwordHash ?? this.#dummy
    const live = user !== undefined && isActiveUser(user)
    const right = await this.#hasher.verify(known, password, {
      reputation: attempt.isKnown ? "known" : attempt.isSuspect ? "suspect" : "clean",
      name: attempt.name,
      address: attempt.address,
      begin: () => attempt.assertAllowed(),
      end: (fits) => (fits && live ? attempt.recordSuccess() : attempt.recordFailure()),
    })
    return right && live ? user : invalidCredentials()
  }
}

const topic = "sign-in"

/** The outcomes of attempts at all processes, without passwords. */
function sharedAttempts(notices: Notices): SharedAttempts {
  return {
    tell: (outcome) => notices.tell(topic, JSON.stringify(outcome)),
    on(listener) {
      notices.on((notice) => {
        if (notice.kind === "message" && notice.topic === topic) listener(JSON.parse(notice.text))
      })
    },
  }
}
