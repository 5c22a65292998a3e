import { pathText } from "./address.ts"
import type { Access, Authority, Identified } from "./authority.ts"

export interface RightsOptions {
  /** How long an answer is used again, in milliseconds. Default 2,000. */
  ttlMs?: number
  /** How many answers of each kind are kept. Default 20,000. */
  max?: number
}

/** The authority's answers, kept for two seconds: small requests need no question each, and a right that was withdrawn is gone quickly. */
export class Rights {
  readonly #authority: Authority
  readonly #ttlMs: number
  readonly #max: number
  #people: Kept<Identified>
  #accesses: Kept<Access>

  constructor(authority: Authority, options: RightsOptions = {}) {
    this.#authority = authority
    this.#ttlMs = options.ttlMs ?? 2_000
    this.#max = options.max ?? 20_000
    this.#people = new Kept(this.#ttlMs, this.#max)
    this.#accesses = new Kept(this.#ttlMs, this.#max)
  }

  /** Forgets everything, answers under way included: they are given to who asked, and not kept. */
  invalidate(): void {
    this.#people = new Kept(this.#ttlMs, this.#max)
    this.#accesses = new Kept(this.#ttlMs, this.#max)
  }

  /** Only a proof that held is remembered: each wrong one is told to the authority, which slows them down. */
  async identify(authorization: string | undefined, address: string): Promise<Identified> {
    if (authorization === undefined) return this.#authority.identify(undefined, address)
    const people = this.#people
    const key = `${address} ${authorization}`
    const known = people.get(key)
    if (known) return known
    const answer = await this.#authority.identify(authorization, address)
    if (answer.ok) people.set(key, answer)
    return answer
  }

  /** What this person may do with one path. Asks for all directories above it at the same time, so that the next file beside it needs no question. */
  async access(userId: number, names: readonly string[]): Promise<Access> {
    const kept = this.#accesses
    for (let depth = names.length; depth >= 0; depth -= 1) {
      const access = kept.get(key(userId, pathText(names.slice(0, depth))))
      if (!access) continue
      if (depth === names.length) return access
      if (access.uniform) return { level: access.level, own: access.level === "write", uniform: true }
    }
    const paths = Array.from({ length: names.length + 1 }, (_, depth) => pathText(names.slice(0, depth)))
    const answers = await this.#authority.access(userId, paths)
    paths.forEach((path, i) => {
      const answer = answers[i]
      if (answer) kept.set(key(userId, path), answer)
    })
    return answers.at(-1) ?? none
  }

  /** For many entries of one directory; not kept. */
  async accesses(userId: number, paths: readonly string[]): Promise<Access[]> {
    return this.#authority.access(userId, paths)
  }
}

const none: Access = { level: "none", own: false }
const key = (userId: number, path: string): string => `${userId} ${path}`

/** A map whose entries end by age, the oldest first also by number. */
class Kept<T> {
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
