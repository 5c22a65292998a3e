import { createHash, randomBytes } from "node:crypto"
import { type Clock, Signer } from "#kit"
import { cookieValues } from "./cookies.ts"
import type { Visitor } from "./host.ts"

/** A browser's proof at one run's origin. Times are milliseconds since the epoch. */
export interface Session {
  key: string
  visitor: Visitor
  issuedAt: number
}

const lifetime = 12 * 60 * 60_000
const renewAfter = 10 * 60_000
const nonceSeconds = 3_600
const justNow = 10_000
const cacheSize = 4_096

export interface SessionOptions {
  cookieKey: Buffer
  clock: Clock
  /**
   * Whether browsers keep `Secure` cookies here; they then refuse these names from scripts and from
   * other hosts.
   */
  secure: boolean
  /** Where origins are ports of one host, what tells this one's cookies from the others'. */
  port?: number
}

/**
 * The gateway's cookies: one session for each run, the nonce that binds a ticket to a browser, and
 * the trace that a session was just made.
 */
export class Sessions {
  readonly #signer: Signer
  readonly #clock: Clock
  readonly #names: { run: string; nonce: string }
  readonly #attributes: string
  /** Sessions by their cookie's text; two generations, so that it stays small. */
  #young = new Map<string, Session>()
  #old = new Map<string, Session>()

  constructor(options: SessionOptions) {
    this.#signer = new Signer(options.cookieKey, "gateway session")
    this.#clock = options.clock
    const prefix = options.secure ? "__Host-Http-" : ""
    const mark = options.port === undefined ? "" : `-${options.port}`
    this.#names = { run: `${prefix}quayside-run${mark}`, nonce: `${prefix}quayside-nonce${mark}` }
    this.#attributes = `; Path=/; HttpOnly; SameSite=Lax${options.secure ? "; Secure" : ""}`
  }

  /** The session that a `Cookie` header proves for the run with this key. */
  find(header: string | undefined, key: string): Session | undefined {
    for (const value of cookieValues(header, this.#names.run)) {
      const session = this.#read(value)
      if (session?.key === key && this.#clock.now() < session.issuedAt + lifetime) return session
    }
    return undefined
  }

  /** A `Set-Cookie` for a new session. */
  cookieFor(key: string, visitor: Visitor): string {
    const { userId, credentialId, onlyRun } = visitor
    return `${this.#names.run}=${this.#signer.sign([key, this.#clock.now(), userId, credentialId, onlyRun ?? null])}${this.#attributes}`
  }

  /** A `Set-Cookie` with more time, when some of it has passed. */
  renewal(session: Session): string | undefined {
    return this.#clock.now() - session.issuedAt < renewAfter ? undefined : this.cookieFor(session.key, session.visitor)
  }

  /**
   * The browser's nonce when it has one, so that several tabs do not spoil each other's, else a new
   * one.
   */
  nonce(header: string | undefined): { hash: string; cookie: string } {
    const known = cookieValues(header, this.#names.nonce).find((value) => /^[A-Za-z0-9_-]{22}$/.test(value))
    const nonce = known ?? randomBytes(16).toString("base64url")
    return { hash: nonceHash(nonce), cookie: `${this.#names.nonce}=${nonce}${this.#attributes}; Max-Age=${nonceSeconds}` }
  }

  hasNonce(header: string | undefined, hash: string): boolean {
    return cookieValues(header, this.#names.nonce).some((value) => nonceHash(value) === hash)
  }

  /** Takes the place of a used nonce for some seconds. */
  trace(): string {
    return `${this.#names.nonce}=made.${this.#clock.now()}${this.#attributes}; Max-Age=${justNow / 1000}`
  }

  /**
   * Whether a session was made in this browser a moment ago: when it is not there, sending the
   * browser around again is in vain.
   */
  wasJustMade(header: string | undefined): boolean {
    return cookieValues(header, this.#names.nonce).some((value) => {
      const [, at] = /^made\.(\d{1,15})$/.exec(value) ?? []
      return at !== undefined && Math.abs(this.#clock.now() - Number(at)) < justNow
    })
  }

  #read(value: string): Session | undefined {
    const known = this.#young.get(value) ?? this.#old.get(value)
    if (known) return known
    const session = decode(this.#signer.verify(value))
    if (session === undefined) return undefined
    if (this.#young.size >= cacheSize) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(value, session)
    return session
  }
}

function decode(signed: unknown): Session | undefined {
  if (!Array.isArray(signed)) return undefined
  const [key, issuedAt, userId, credentialId, onlyRun] = signed as [string, number, number, string, number | null]
  return { key, issuedAt, visitor: { userId, credentialId, ...(onlyRun === null ? {} : { onlyRun }) } }
}

function nonceHash(nonce: string): string {
  return createHash("sha256").update(nonce).digest("base64url")
}
