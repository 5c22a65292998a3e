import { joinPath } from "../requests/address.ts"
import type { Authority, IdentifyResult, PathAccess } from "./authority.ts"

/** Failed proofs count for a minute. */
const guessWindowMs = 60_000

export interface RightsCacheOptions {
  /** How long an answer is used again, in milliseconds. Default 2,000. */
  ttlMs?: number
  /** How many answers of each kind are kept. Default 20,000. */
  maxEntries?: number
}

/**
 * The authority's answers, kept for two seconds: small requests need no question each, and a right
 * that was withdrawn is gone quickly.
 */
export class RightsCache {
  readonly #authority: Authority
  readonly #ttlMs: number
  readonly #max: number
  #people: ExpiringMap<IdentifyResult>
  #accesses: ExpiringMap<PathAccess>
  /** Addresses from which somebody guessed too fast, for as long as that may count. */
  readonly #throttledAddresses: ExpiringMap<true>

  constructor(authority: Authority, options: RightsCacheOptions = {}) {
    this.#authority = authority
    this.#ttlMs = options.ttlMs ?? 2_000
    this.#max = options.maxEntries ?? 20_000
    this.#people = new ExpiringMap(this.#ttlMs, this.#max)
    this.#accesses = new ExpiringMap(this.#ttlMs, this.#max)
    this.#throttledAddresses = new ExpiringMap(guessWindowMs, this.#max)
  }

  /** Forgets everything, answers under way included: they are given to who asked, and not kept. */
  invalidate(): void {
    this.#people = new ExpiringMap(this.#ttlMs, this.#max)
    this.#accesses = new ExpiringMap(this.#ttlMs, this.#max)
  }

  /**
   * Only a proof that held is remembered: each wrong one is told to the authority, which slows them
   * down.
   */
  async identify(authorization: string | undefined, address: string): Promise<IdentifyResult> {
    if (authorization === undefined) return this.#authority.identify(undefined, address)
    const people = this.#people
    const key = `${address} ${authorization}`
    // A guesser would be told by what is kept that a guess is right; whoever asks from elsewhere is
    // not concerned.
    const known = this.#throttledAddresses.get(address) ? undefined : people.get(key)
    if (known) return known
    const answer = await this.#authority.identify(authorization, address)
    if (answer.ok) people.set(key, answer)
    else if (answer.status === 429) this.#throttledAddresses.set(address, true)
    return answer
  }

  /** What this person may do with one path. */
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

  /** What is kept of the path and the directories above it, from the path upwards. */
  *#known(userId: number, names: readonly string[]): Iterable<CachedAccess> {
    for (let depth = names.length; depth >= 0; depth -= 1) {
      const access = this.#accesses.get(key(userId, joinPath(names.slice(0, depth))))
      if (access) yield { access, depth }
    }
  }

  /**
   * Asks for all directories above at the same time, so that the next file beside it needs no
   * question.
   */
  async #ask(userId: number, names: readonly string[]): Promise<PathAccess> {
    const kept = this.#accesses
    const paths = Array.from({ length: names.length + 1 }, (_, depth) => joinPath(names.slice(0, depth)))
    const answers = await this.#authority.access(userId, paths)
    paths.forEach((path, i) => {
      const answer = answers[i]
      if (answer) kept.set(key(userId, path), answer)
    })
    return answers.at(-1) ?? none
  }

  /** For many entries of one directory; not kept. */
  async fetchAccess(userId: number, paths: readonly string[]): Promise<PathAccess[]> {
    return this.#authority.access(userId, paths)
  }

  /** Whether whoever has one of the paths in a run has the other as well. */
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

const none: PathAccess = { level: "none", canReplace: false }
const key = (userId: number, path: string): string => `${userId} ${path}`

/** A map whose entries end by age, the oldest first also by number. */
class ExpiringMap<T> {
  readonly #entries = new Map<string, { value: T; until: number }>()
  readonly #ttlMs: number
  readonly #max: number

  constructor(ttlMs: number, max: number) {
    this.#ttlMs = ttlMs
    this.#max = max
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.until > performance.now() ? entry.value : undefined
  }

  set(key: string, value: T): void {
    const now = performance.now()
    for (const [oldest, entry] of this.#entries) {
      if (entry.until > now && this.#entries.size < this.#max) break
      this.#entries.delete(oldest)
    }
    this.#entries.delete(key)
    this.#entries.set(key, { value, until: now + this.#ttlMs })
  }
}
