import { createHmac, createSecretKey, randomBytes } from "node:crypto"
import type { Clock, Logger } from "#kit"
import type { Change, Store } from "#store"
import { type Caller, noProof, Refusal, wrongProof } from "./caller.ts"
import { readAuthorization } from "./credentials.ts"
import { readFilesToken, signFilesToken } from "./files-token.ts"
import { ensureAdmin } from "./first-admin.ts"
import { LastUsed } from "./last-used.ts"
import { checkNewPassword, Hasher, type HasherOptions } from "./password.ts"
import { createPeople, type People } from "./people.ts"
import { Callers, type Loaded, loadCaller, passwordProof, sha256 } from "./recall.ts"
import { createSessions, type Sessions } from "./sessions.ts"
import { PasswordCheck } from "./sign-in.ts"
import { createTokens, type Tokens } from "./tokens.ts"

/** How long a Basic header with the right password is believed without another hash. */
const basicMs = 60_000
const freshMs = { sqlite: 60_000, postgres: 4_000 } as const

export interface IdentityOptions {
  store: Store
  clock: Clock
  logger: Logger
  /** `files`: at least 32 random bytes that all processes of this installation share; signs tokens for the files address. */
  keys: { files: Uint8Array }
  hashing?: HasherOptions
  /** Longest age of a cached caller in milliseconds. Default: 4,000 where several processes may share the database (PostgreSQL), else 60,000. */
  freshMs?: number
}

/** Turns proofs into callers, and makes and ends what proves. */
export interface Identity extends AsyncDisposable {
  /** The caller, when header or cookie secret are known from before; undefined means "ask `identify`". Costs a hash of the token and a lookup. */
  identifyCached(authorization: string | undefined, session: string | undefined): Caller | undefined
  /** A header counts before a session, and a wrong one is not made good by a session. `address` is the caller's, after trusted proxies. */
  identify(authorization: string | undefined, session: string | undefined, address: string): Promise<Caller | Refusal>
  /** For the files address: also takes its own tokens; refuses (403) tokens that open only a run. */
  identifyForFiles(authorization: string | undefined, address: string): Promise<Caller | Refusal>
  /** A name with its password, no token; for making a session, and for asking a person once more. */
  checkPassword(userName: string, password: string, address: string): Promise<Caller | Refusal>
  /** The caller of an earlier proof as they are now; undefined when the proof has ended or the person may no longer sign in. */
  recall(userId: number, proofId: string): Promise<Caller | undefined>

  /** A PHC string for `UserRow.passwordHash`; throws `Failure` (`invalid`, `Password`) on what cannot be one. Before the change, never within it. */
  hashPassword(password: string): Promise<string>
  filesToken(caller: Caller): { token: string; expiresAt: number }
  /**
   * Makes the administrator `admin` when there is nobody at all. Without a password one is generated, given to `announce` before it counts, and returned;
   * undefined when there was nothing to generate.
   */
  ensureAdmin(password?: string, announce?: (generated: string) => void): Promise<string | undefined>

  readonly people: People
  readonly tokens: Tokens
  readonly sessions: Sessions

  /** Drops what is remembered about these people: their next request is read from the database again. */
  forget(...userIds: number[]): void
  /** After changes of groups, which concern many. */
  forgetAll(): void
  /** Calls back at every `forget` (the IDs) and `forgetAll` (undefined), so that others drop what they remember. */
  onForget(listener: (userIds: readonly number[] | undefined) => void): Disposable
}

export function createIdentity(options: IdentityOptions): Identity {
  const { store, clock, logger, keys } = options
  if (keys.files.length < 32) throw new TypeError(`A key of at least 32 bytes is wanted, got ${keys.files.length}`)
  const callers = new Callers(clock, options.freshMs ?? freshMs[store.dialect])
  const lastUsed = new LastUsed({ store, clock, logger })
  const hasher = new Hasher(options.hashing)
  const passwords = new PasswordCheck({ store, clock, hasher })
  const basicKey = createSecretKey(randomBytes(32))
  const listeners = new Set<(userIds: readonly number[] | undefined) => void>()
  const flights = new Map<string, Promise<Caller | Refusal>>()

  const forget = (...userIds: number[]) => {
    callers.forget(new Set(userIds))
    for (const tell of listeners) tell(userIds)
  }
  const forgetAfter = (tx: Change, userId: number) => tx.afterCommit(() => forget(userId))
  const keyOf = (authorization: string) =>
    authorization.startsWith("Bearer qs_")
      ? sha256(authorization.slice("Bearer ".length))
      : createHmac("sha256", basicKey).update(authorization).digest("latin1")

  const use = (loaded: Loaded): Caller => {
    if (loaded.token) lastUsed.note(loaded.token)
    return loaded.caller
  }
  const load = (key: string, userId: number, proofId: string, keepMs?: number): Promise<Loaded | undefined> =>
    callers.load(key, () => loadCaller(store, userId, proofId, clock.now()), keepMs)

  async function byToken(key: string, token: string, userName?: string): Promise<Caller | Refusal> {
    const row = await store.tokens.byHash(sha256(token))
    if (!row) return wrongProof()
    if (userName !== undefined && (await store.users.get(row.userId))?.userName !== userName) return wrongProof()
    const loaded = await load(key, row.userId, `token:${row.id}`)
    return loaded ? use(loaded) : wrongProof()
  }

  /** One hash in flight for each header and address: a client that opens ten connections at once costs one. */
  function byPassword(key: string, proof: { userName: string; password: string }, address: string): Promise<Caller | Refusal> {
    const flightKey = `${key} ${address}`
    const running = flights.get(flightKey)
    if (running) return running
    const flight = (async () => {
      const user = await passwords.check(proof, address)
      if (user instanceof Refusal) return user
      return (await load(key, user.id, passwordProof(user).id, basicMs))?.caller ?? wrongProof()
    })().finally(() => flights.delete(flightKey))
    flights.set(flightKey, flight)
    return flight
  }

  async function byHeader(authorization: string, address: string): Promise<Caller | Refusal> {
    const credentials = readAuthorization(authorization)
    if (credentials instanceof Refusal) return credentials
    const key = keyOf(authorization)
    if (credentials.scheme === "token") return byToken(key, credentials.token)
    if (credentials.scheme === "files") return wrongProof()
    if (passwords.isToken(credentials.password)) return byToken(key, credentials.password, credentials.userName)
    return byPassword(key, credentials, address)
  }

  async function bySession(secret: string): Promise<Caller | Refusal> {
    const key = sha256(secret)
    const row = await store.sessions.byHash(key)
    const loaded = row && (await load(key, row.userId, `session:${key}`))
    return loaded ? loaded.caller : new Refusal("unauthorized", "The session has ended: sign in again with user name and password")
  }

  const identity: Identity = {
    identifyCached(authorization, session) {
      if (authorization === undefined && session?.length !== 43) return undefined
      const kept = callers.get(authorization !== undefined ? keyOf(authorization) : sha256(session ?? ""))
      return kept && use(kept)
    },
    async identify(authorization, session, address) {
      const known = identity.identifyCached(authorization, session)
      if (known) return known
      if (authorization !== undefined) return byHeader(authorization, address)
      return session === undefined ? noProof() : bySession(session)
    },
    async identifyForFiles(authorization, address) {
      const credentials = authorization?.startsWith("Bearer qf_") ? readAuthorization(authorization) : undefined
      if (credentials instanceof Refusal) return credentials
      const claims = credentials?.scheme === "files" ? readFilesToken(keys.files, credentials.token) : undefined
      if (credentials && !claims) return wrongProof()
      const caller = claims
        ? await identity.recall(claims.userId, claims.proofId)
        : await identity.identify(authorization, undefined, address)
      if (!caller) return wrongProof()
      if (caller instanceof Refusal || caller.scopes.includes("read")) return caller
      return new Refusal("forbidden", "This token opens a run and nothing else")
    },
    async checkPassword(userName, password, address) {
      const user = await passwords.check({ userName, password }, address)
      if (user instanceof Refusal) return user
      return (await loadCaller(store, user.id, passwordProof(user).id, clock.now()))?.caller ?? wrongProof()
    },
    async recall(userId, proofId) {
      const key = `${userId} ${proofId}`
      return (callers.get(key) ?? (await load(key, userId, proofId)))?.caller
    },
    async hashPassword(password) {
      checkNewPassword(password)
      return hasher.hash(password)
    },
    filesToken: (caller) => signFilesToken(keys.files, caller, clock.now()),
    ensureAdmin: (password, announce) => ensureAdmin({ store, identity, announce }, password),
    people: createPeople({ forgetAfter }),
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
    [Symbol.asyncDispose]: () => lastUsed[Symbol.asyncDispose](),
  }
  return identity
}
