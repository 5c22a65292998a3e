import { createHmac, createSecretKey, randomBytes } from "node:crypto"
import { bounds } from "#contract"
import type { Clock } from "#kit"
import { readAsAddress, type Store } from "#store"
import { AuthenticationFailure, type Caller, invalidCredentials, missingCredentials } from "../caller.ts"
import type { PasswordChecker } from "../passwords/password-checker.ts"
import { TwoGenerationCache } from "../two-generation-cache.ts"
import { isTokenFormat, parseAuthorization } from "./authorization-header.ts"
import type { CallerCache } from "./caller-cache.ts"
import type { CredentialUsageRecorder } from "./credential-usage.ts"
import { type CredentialClaims, originOf, verifyFilesToken } from "./files-token.ts"
import { type LoadedCaller, loadCaller, passwordCredential, sha256 } from "./load-caller.ts"

/** How long a Basic header with a right password is accepted without another hash. */
const basicMs = bounds.accounts.basicMs.value
/**
 * Length of a session's secret. Tokens are longer, so that neither is ever looked up as the other.
 */
const secretLength = 43

interface AuthenticatorContext {
  store: Store
  clock: Clock
  callers: CallerCache
  passwords: PasswordChecker
  lastUsed: CredentialUsageRecorder
  filesKey: Uint8Array
}

/**
 * Finds the caller of credentials, in the cache first. See `Identity` for what each method
 * promises.
 */
export class Authenticator {
  readonly #context: AuthenticatorContext
  readonly #basicKey = createSecretKey(randomBytes(32))
  /** The password credential that a name and password matched: only its row is read again. */
  readonly #verified = new TwoGenerationCache<{ userId: number; credentialId: string; until: number }>(10_000)

  constructor(context: AuthenticatorContext) {
    this.#context = context
  }

  authenticateCached(authorization: string | undefined, session: string | undefined, address: string): Caller | undefined {
    if (authorization === undefined && session?.length !== secretLength) return undefined
    const cached = this.#context.callers.get(authorization !== undefined ? this.#keyOf(authorization) : sha256(session ?? ""))
    return cached && !this.#isBlockedGuess(cached.caller, address) ? this.#recordUse(cached) : undefined
  }

  /**
   * After too many wrong guesses, a right guess is not accepted from the cache either: it would
   * reveal the password.
   */
  #isBlockedGuess({ credential, userName }: Caller, address: string): boolean {
    return credential.kind === "password" && this.#context.passwords.isThrottled(userName, address)
  }

  async authenticate(
    authorization: string | undefined,
    session: string | undefined,
    address: string,
  ): Promise<Caller | AuthenticationFailure> {
    const known = this.authenticateCached(authorization, session, address)
    if (known) return known
    if (authorization !== undefined) return this.#byHeader(authorization, address)
    return session === undefined ? missingCredentials() : this.#bySession(session, address)
  }

  async authenticateForFiles(
    authorization: string | undefined,
    address: string,
    { begunAs }: { begunAs?: CredentialClaims } = {},
  ): Promise<Caller | AuthenticationFailure> {
    const caller = begunAs
      ? ((await this.refreshCaller(begunAs.userId, originOf(begunAs))) ?? invalidCredentials())
      : ((await this.#byFilesToken(authorization)) ?? (await this.authenticate(authorization, undefined, address)))
    if (caller instanceof AuthenticationFailure || caller.scopes.includes("read")) return caller
    return new AuthenticationFailure("forbidden", "This token opens one run and allows nothing else", { userName: caller.userName })
  }

  async checkPassword(userName: string, password: string, address: string): Promise<Caller | AuthenticationFailure> {
    const user = await this.#context.passwords.check({ userName, password }, address)
    if (user instanceof AuthenticationFailure) return user
    const { store, clock } = this.#context
    return (await loadCaller(store, user.id, passwordCredential(user).id, clock.now()))?.caller ?? invalidCredentials()
  }

  async refreshCaller(userId: number, credentialId: string): Promise<Caller | undefined> {
    const key = `${userId} ${credentialId}`
    return (this.#context.callers.get(key) ?? (await this.#load(key, userId, credentialId)))?.caller
  }

  /**
   * One key for all spellings of a header, which are thousands: otherwise one person would evict
   * everybody's entries. Tokens have entropy enough for a bare hash; a password would be guessed
   * from one.
   */
  #keyOf(authorization: string): string {
    if (authorization.startsWith("Bearer qs_")) return sha256(authorization.slice("Bearer ".length))
    const credentials = parseAuthorization(authorization)
    if (!(credentials instanceof AuthenticationFailure) && credentials.scheme !== "basic") return sha256(credentials.token)
    const words = credentials instanceof AuthenticationFailure ? authorization : [credentials.userName, credentials.password]
    return createHmac("sha256", this.#basicKey).update(JSON.stringify(words)).digest("latin1")
  }

  #recordUse(loaded: LoadedCaller): Caller {
    if (loaded.used) this.#context.lastUsed.record(loaded.used)
    return loaded.caller
  }

  #load(key: string, userId: number, credentialId: string, maxAgeMs?: number): Promise<LoadedCaller | undefined> {
    const { callers, store, clock } = this.#context
    return callers.load(key, () => loadCaller(store, userId, credentialId, clock.now()), maxAgeMs)
  }

  async #byHeader(authorization: string, address: string): Promise<Caller | AuthenticationFailure> {
    const credentials = parseAuthorization(authorization)
    if (credentials instanceof AuthenticationFailure) return credentials
    const key = this.#keyOf(authorization)
    if (credentials.scheme === "token") return this.#byToken(key, credentials.token, { address })
    if (credentials.scheme === "files") return invalidCredentials()
    if (isTokenFormat(credentials.password)) return this.#byToken(key, credentials.password, { address, userName: credentials.userName })
    return this.#byPassword(key, credentials, address)
  }

  async #byToken(
    key: string,
    token: string,
    { address, userName }: { address: string; userName?: string },
  ): Promise<Caller | AuthenticationFailure> {
    const { store } = this.#context
    const row = await readAsAddress(address, () => store.tokens.byHash(sha256(token)))
    if (!row) return invalidCredentials()
    if (userName !== undefined && (await store.users.get(row.userId))?.userName !== userName) return invalidCredentials()
    const loaded = await this.#load(key, row.userId, `token:${row.id}`)
    return loaded ? this.#recordUse(loaded) : invalidCredentials()
  }

  async #byPassword(
    key: string,
    credentials: { userName: string; password: string },
    address: string,
  ): Promise<Caller | AuthenticationFailure> {
    const known = await this.#cachedPassword(key)
    if (known && !this.#isBlockedGuess(known, address)) return known
    return this.#verifyPassword(key, credentials, address)
  }

  /**
   * Undefined when a hash is needed: the password was never checked or too long ago, or it changed.
   */
  async #cachedPassword(key: string): Promise<Caller | undefined> {
    const right = this.#verified.get(key)
    if (right === undefined || right.until <= this.#context.clock.now()) return undefined
    const loaded = await this.#load(key, right.userId, right.credentialId, right.until - this.#context.clock.now())
    if (!loaded) this.#verified.delete(key)
    return loaded?.caller
  }

  async #verifyPassword(
    key: string,
    credentials: { userName: string; password: string },
    address: string,
  ): Promise<Caller | AuthenticationFailure> {
    const user = await this.#context.passwords.check(credentials, address)
    if (user instanceof AuthenticationFailure) return user
    const credentialId = passwordCredential(user).id
    const loaded = await this.#load(key, user.id, credentialId, basicMs)
    if (loaded) this.#verified.set(key, { userId: user.id, credentialId, until: this.#context.clock.now() + basicMs })
    return loaded?.caller ?? invalidCredentials()
  }

  async #bySession(secret: string, address: string): Promise<Caller | AuthenticationFailure> {
    const key = sha256(secret)
    const row = await readAsAddress(address, () => this.#context.store.sessions.byHash(key))
    const loaded = row && (await this.#load(key, row.userId, `session:${key}`))
    return loaded
      ? this.#recordUse(loaded)
      : new AuthenticationFailure("unauthorized", "The session has ended: sign in again with user name and password")
  }

  /** Undefined when the header holds other credentials, or none. */
  async #byFilesToken(authorization: string | undefined): Promise<Caller | AuthenticationFailure | undefined> {
    const credentials = authorization === undefined ? undefined : parseAuthorization(authorization)
    if (credentials === undefined || credentials instanceof AuthenticationFailure || credentials.scheme !== "files") return undefined
    const claims = verifyFilesToken(this.#context.filesKey, credentials.token)
    if (!claims) return invalidCredentials()
    return (await this.refreshCaller(claims.userId, claims.credentialId)) ?? invalidCredentials()
  }
}
