import { createHmac, createSecretKey, randomBytes } from "node:crypto"
import { bounds } from "#contract"
import type { Clock } from "#kit"
import type { Store } from "#store"
import { type Caller, invalidCredentials, missingCredentials, Refusal } from "../caller.ts"
import type { PasswordChecker } from "../passwords/password-checker.ts"
import { TwoGenerationCache } from "../two-generation-cache.ts"
import { isTokenFormat, parseAuthorization } from "./authorization-header.ts"
import type { CallerCache } from "./caller-cache.ts"
import { verifyFilesToken } from "./files-token.ts"
import { type LoadedCaller, loadCaller, passwordCredential, sha256 } from "./load-caller.ts"
import type { TokenUsageRecorder } from "./token-usage.ts"

/** How long a Basic header with the right password is believed without another hash. */
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
  lastUsed: TokenUsageRecorder
  filesKey: Uint8Array
}

/**
 * Looks proofs up, first among those that are known. See `Identity` for what each method promises.
 */
export class Authenticator {
  readonly #means: AuthenticatorContext
  readonly #basicKey = createSecretKey(randomBytes(32))
  /** Which password's proof a Basic header gave, so that only its row is read again. */
  readonly #right = new TwoGenerationCache<{ userId: number; credentialId: string; until: number }>(10_000)

  constructor(means: AuthenticatorContext) {
    this.#means = means
  }

  authenticateCached(authorization: string | undefined, session: string | undefined, address: string): Caller | undefined {
    if (authorization === undefined && session?.length !== secretLength) return undefined
    const kept = this.#means.callers.get(authorization !== undefined ? this.#keyOf(authorization) : sha256(session ?? ""))
    return kept && !this.#isGuessed(kept.caller, address) ? this.#use(kept) : undefined
  }

  /**
   * Whoever has guessed too often is not told that a guess was right because its person came with
   * it a moment ago.
   */
  #isGuessed({ credential, userName }: Caller, address: string): boolean {
    return credential.kind === "password" && this.#means.passwords.isThrottled(userName, address)
  }

  async identify(authorization: string | undefined, session: string | undefined, address: string): Promise<Caller | Refusal> {
    const known = this.authenticateCached(authorization, session, address)
    if (known) return known
    if (authorization !== undefined) return this.#byHeader(authorization, address)
    return session === undefined ? missingCredentials() : this.#bySession(session)
  }

  async authenticateForFiles(authorization: string | undefined, address: string): Promise<Caller | Refusal> {
    const caller = (await this.#byFilesToken(authorization)) ?? (await this.identify(authorization, undefined, address))
    if (caller instanceof Refusal || caller.scopes.includes("read")) return caller
    return new Refusal("forbidden", "This token opens a run and nothing else", { userName: caller.userName })
  }

  async checkPassword(userName: string, password: string, address: string): Promise<Caller | Refusal> {
    const user = await this.#means.passwords.check({ userName, password }, address)
    if (user instanceof Refusal) return user
    const { store, clock } = this.#means
    return (await loadCaller(store, user.id, passwordCredential(user).id, clock.now()))?.caller ?? invalidCredentials()
  }

  async recall(userId: number, credentialId: string): Promise<Caller | undefined> {
    const key = `${userId} ${credentialId}`
    return (this.#means.callers.get(key) ?? (await this.#load(key, userId, credentialId)))?.caller
  }

  /** Tokens have entropy enough for a bare hash; a password would be guessed from one. */
  #keyOf(authorization: string): string {
    if (authorization.startsWith("Bearer qs_")) return sha256(authorization.slice("Bearer ".length))
    return createHmac("sha256", this.#basicKey).update(authorization).digest("latin1")
  }

  #use(loaded: LoadedCaller): Caller {
    if (loaded.token) this.#means.lastUsed.record(loaded.token)
    return loaded.caller
  }

  #load(key: string, userId: number, credentialId: string, keepMs?: number): Promise<LoadedCaller | undefined> {
    const { callers, store, clock } = this.#means
    return callers.load(key, () => loadCaller(store, userId, credentialId, clock.now()), keepMs)
  }

  async #byHeader(authorization: string, address: string): Promise<Caller | Refusal> {
    const credentials = parseAuthorization(authorization)
    if (credentials instanceof Refusal) return credentials
    const key = this.#keyOf(authorization)
    if (credentials.scheme === "token") return this.#byToken(key, credentials.token)
    if (credentials.scheme === "files") return invalidCredentials()
    if (isTokenFormat(credentials.password)) return this.#byToken(key, credentials.password, credentials.userName)
    return this.#byPassword(key, credentials, address)
  }

  async #byToken(key: string, token: string, userName?: string): Promise<Caller | Refusal> {
    const { store } = this.#means
    const row = await store.tokens.byHash(sha256(token))
    if (!row) return invalidCredentials()
    if (userName !== undefined && (await store.users.get(row.userId))?.userName !== userName) return invalidCredentials()
    const loaded = await this.#load(key, row.userId, `token:${row.id}`)
    return loaded ? this.#use(loaded) : invalidCredentials()
  }

  async #byPassword(key: string, proof: { userName: string; password: string }, address: string): Promise<Caller | Refusal> {
    const known = await this.#knownPassword(key)
    if (known && !this.#isGuessed(known, address)) return known
    return this.#checked(key, proof, address)
  }

  /**
   * Undefined where a hash is needed: the header is new, or too old, or the person has another
   * password by now.
   */
  async #knownPassword(key: string): Promise<Caller | undefined> {
    const right = this.#right.get(key)
    if (right === undefined || right.until <= this.#means.clock.now()) return undefined
    const loaded = await this.#load(key, right.userId, right.credentialId, right.until - this.#means.clock.now())
    if (!loaded) this.#right.delete(key)
    return loaded?.caller
  }

  async #checked(key: string, proof: { userName: string; password: string }, address: string): Promise<Caller | Refusal> {
    const user = await this.#means.passwords.check(proof, address)
    if (user instanceof Refusal) return user
    const credentialId = passwordCredential(user).id
    const loaded = await this.#load(key, user.id, credentialId, basicMs)
    if (loaded) this.#right.set(key, { userId: user.id, credentialId, until: this.#means.clock.now() + basicMs })
    return loaded?.caller ?? invalidCredentials()
  }

  async #bySession(secret: string): Promise<Caller | Refusal> {
    const key = sha256(secret)
    const row = await this.#means.store.sessions.byHash(key)
    const loaded = row && (await this.#load(key, row.userId, `session:${key}`))
    return loaded ? loaded.caller : new Refusal("unauthorized", "The session has ended: sign in again with user name and password")
  }

  /** Undefined when it is another proof, or none. */
  async #byFilesToken(authorization: string | undefined): Promise<Caller | Refusal | undefined> {
    const credentials = authorization === undefined ? undefined : parseAuthorization(authorization)
    if (credentials === undefined || credentials instanceof Refusal || credentials.scheme !== "files") return undefined
    const claims = verifyFilesToken(this.#means.filesKey, credentials.token)
    return (claims && (await this.recall(claims.userId, claims.credentialId))) ?? invalidCredentials()
  }
}
