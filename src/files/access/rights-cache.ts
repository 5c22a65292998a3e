import { joinPath } from "../requests/address.ts"
import type { Authority, IdentifyOptions, IdentifyResult, PathAccess } from "./authority.ts"

/** Failed authentications count for a minute. */
const guessWindowMs = 60_000

/** Directories above a path that a question includes. */
const topmost = 6
const nearest = 3

/** Many paths are asked about in several questions. */
const pathsPerQuestion = 16

export interface RightsCacheOptions {
  /** How long an answer is cached, in milliseconds. Default 2,000. */
  ttlMs?: number
  /** Largest number of cached answers of each kind. Default 20,000. */
  maxEntries?: number
}

/**
 * Caches the authority's answers for two seconds. So not every small request needs a question, and
 * a revoked right expires quickly.
 */
export class RightsCache {
  readonly #authority: Authority
  readonly #ttlMs: number
  readonly #maxEntries: number
  #people: ExpiringMap<IdentifyResult>
  #accesses: ExpiringMap<PathAccess>
  /** Addresses that recently sent too many wrong credentials. */
  readonly #throttledAddresses: ExpiringMap<true>
  /** By person: settles when the last question about many paths is answered. */
  readonly #questions = new Map<number, Promise<void>>()

  constructor(authority: Authority, options: RightsCacheOptions = {}) {
    this.#authority = authority
    this.#ttlMs = options.ttlMs ?? 2_000
    this.#maxEntries = options.maxEntries ?? 20_000
    this.#people = new ExpiringMap(this.#ttlMs, this.#maxEntries)
    this.#accesses = new ExpiringMap(this.#ttlMs, this.#maxEntries)
    this.#throttledAddresses = new ExpiringMap(guessWindowMs, this.#maxEntries)
  }

  /** Empties the cache. Pending answers are still returned, but not cached. */
  invalidate(): void {
    this.#people = new ExpiringMap(this.#ttlMs, this.#maxEntries)
    this.#accesses = new ExpiringMap(this.#ttlMs, this.#maxEntries)
  }

  /**
   * Caches successful authentications only. Each wrong one reaches the authority, which slows its
   * sender down.
   */
  async identify(authorization: string | undefined, address: string, options: IdentifyOptions = {}): Promise<IdentifyResult> {
    if (authorization === undefined) return this.#authority.identify(undefined, address)
    const people = this.#people
    const { begunAs } = options
    const key = begunAs ? `${begunAs.userId} ${begunAs.credentialId}` : `${address} ${authorization}`
    // A cached success would tell a guesser that a guess is right. Other addresses are not
    // affected.
    const known = this.#throttledAddresses.get(address) ? undefined : people.get(key)
    if (known) return known
    const answer = await this.#authority.identify(authorization, address, options)
    if (answer.ok) people.set(key, answer)
    else if (answer.status === 429) this.#throttledAddresses.set(address, true)
    return answer
  }

  /** Returns the person's rights on one path. */
  async access(userId: number, names: readonly string[]): Promise<PathAccess> {
    for (const { access, depth } of this.#known(userId, names)) {
      if (depth === names.length) return access
      if (access.level === "none") return none
      if (access.appliesBelow) return { ...access, canReplace: access.level === "write" }
    }
    return this.#ask(userId, names)
  }

  /**
   * Only the level, and no more of it than `enough`. A cached answer for a directory above decides
   * where it can: a level holds for everything below.
   */
  async level(userId: number, names: readonly string[], enough: "read" | "write"): Promise<PathAccess["level"]> {
    for (const { access, depth } of this.#known(userId, names)) {
      const { level } = access
      if (depth === names.length || level === "none" || level === "write" || level === enough) return level
    }
    return (await this.#ask(userId, names)).level
  }

  /** Cached answers for the path and the directories above it, from the path upwards. */
  *#known(userId: number, names: readonly string[]): Iterable<CachedAccess> {
    let path = joinPath(names)
    for (let depth = names.length; depth >= 0; depth -= 1) {
      const access = this.#accesses.get(key(userId, path))
      if (access) yield { access, depth }
      path = path.slice(0, path.lastIndexOf("/")) || "/"
    }
  }

  /**
   * Asks about directories above as well, so that the next file in the same directory needs no
   * question: about the topmost ones, where homes and most datasets begin, and the nearest ones.
   * The authority looks each path up, so a deep one must not cost a question for each name.
   */
  async #ask(userId: number, names: readonly string[]): Promise<PathAccess> {
    const cache = this.#accesses
    const depths = Array.from({ length: names.length + 1 }, (_, depth) => depth)
    const asked = depths.filter((depth) => depth < topmost || depth > names.length - nearest)
    const paths = asked.map((depth) => joinPath(names.slice(0, depth)))
    const answers = await this.#authority.access(userId, paths)
    paths.forEach((path, i) => {
      const answer = answers[i]
      if (answer) cache.set(key(userId, path), answer)
    })
    return answers.at(-1) ?? none
  }

  /**
   * For many paths; bypasses the cache. The authority also serves everybody else, so each person
   * has one such question under way, and it is small.
   */
  async fetchAccess(userId: number, paths: readonly string[]): Promise<PathAccess[]> {
    const accesses: PathAccess[] = []
    for (let from = 0; from < paths.length; from += pathsPerQuestion) {
      const some = paths.slice(from, from + pathsPerQuestion)
      accesses.push(...(await this.#inTurn(userId, () => this.#authority.access(userId, some))))
    }
    return accesses
  }

  /** Calls `ask` when the person's earlier questions are answered. */
  async #inTurn<T>(userId: number, ask: () => Promise<T>): Promise<T> {
    const answer = (this.#questions.get(userId) ?? Promise.resolve()).then(ask)
    const settled = answer.then(nothing, nothing)
    this.#questions.set(userId, settled)
    await settled
    if (this.#questions.get(userId) === settled) this.#questions.delete(userId)
    return answer
  }

  /** Whether runs that mount one of the paths can reach the other as well. */
  async shareMountArea(one: readonly string[], other: readonly string[]): Promise<boolean> {
    const [first, second] = await this.#authority.mountAreas([joinPath(one), joinPath(other)])
    return first !== undefined && first === second
  }
}

/** The answer for the first `depth` names of a path. */
interface CachedAccess {
  access: PathAccess
  depth: number
}

const nothing = (): void => {}
const none: PathAccess = { level: "none", canReplace: false }
const key = (userId: number, path: string): string => `${userId} ${path}`

/** A map whose entries expire. Beyond the maximum the oldest ones are evicted. */
class ExpiringMap<T> {
  readonly #entries = new Map<string, { value: T; until: number }>()
  readonly #ttlMs: number
  readonly #maxEntries: number

  constructor(ttlMs: number, maxEntries: number) {
    this.#ttlMs = ttlMs
    this.#maxEntries = maxEntries
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.until > performance.now() ? entry.value : undefined
  }

  set(key: string, value: T): void {
    const now = performance.now()
    for (const [oldest, entry] of this.#entries) {
      if (entry.until > now && this.#entries.size < this.#maxEntries) break
      this.#entries.delete(oldest)
    }
    this.#entries.delete(key)
    this.#entries.set(key, { value, until: now + this.#ttlMs })
  }
}
