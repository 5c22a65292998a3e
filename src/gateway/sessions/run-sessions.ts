import { createHash, randomBytes } from "node:crypto"
import { bounds } from "#contract"
import { cookieValues } from "#http"
import { type Clock, Signer } from "#kit"
import type { Visitor } from "../run-directory.ts"

/** A browser's session at one run's origin. Times are milliseconds since the epoch. */
export interface RunSession {
  key: string
  visitor: Visitor
  issuedAt: number
}

const sessionLifetimeMs = bounds.gateway.sessionMs.value
const renewAfterMs = 10 * 60_000
const nonceSeconds = 3_600
const justCreatedMs = 10_000
const maxCachedSessions = 4_096

export interface RunSessionOptions {
  cookieKey: Buffer
  clock: Clock
  /**
   * Whether browsers keep `Secure` cookies here; they then refuse these names from scripts and from
   * other hosts.
   */
  secure: boolean
  /**
   * If origins are ports of one host: the part of the cookies' names that identifies this origin.
   */
  port?: number
}

/**
 * The gateway's cookies: one session for each run, the nonce that binds a ticket to a browser, and
 * the trace that a session was just made.
 */
export class RunSessions {
  readonly #signer: Signer
  readonly #clock: Clock
  readonly #names: { run: string; nonce: string }
  readonly #attributes: string
  /** Sessions by their cookie's text, in a bounded cache. */
  #young = new Map<string, RunSession>()
  #old = new Map<string, RunSession>()

  constructor(options: RunSessionOptions) {
    this.#signer = new Signer(options.cookieKey, "gateway session")
    this.#clock = options.clock
    const prefix = options.secure ? "__Host-Http-" : ""
    const mark = options.port === undefined ? "" : `-${options.port}`
    this.#names = { run: `${prefix}quayside-run${mark}`, nonce: `${prefix}quayside-nonce${mark}` }
    this.#attributes = `; Path=/; HttpOnly; SameSite=Lax${options.secure ? "; Secure" : ""}`
  }

  /** The session of the run with this key, if a `Cookie` header carries one. */
  find(header: string | undefined, key: string): RunSession | undefined {
    for (const value of cookieValues(header, this.#names.run)) {
      const session = this.#read(value)
      if (session?.key === key && this.#clock.now() < session.issuedAt + sessionLifetimeMs) return session
    }
    return undefined
  }

  /** A `Set-Cookie` for a new session. */
  createCookie(key: string, visitor: Visitor): string {
    const { userId, credentialId, scopedRunId } = visitor
    return `${this.#names.run}=${this.#signer.sign([key, this.#clock.now(), userId, credentialId, scopedRunId ?? null])}${this.#attributes}`
  }

  /** A `Set-Cookie` that renews the session, once part of its lifetime has passed. */
  renewCookie(session: RunSession): string | undefined {
    return this.#clock.now() - session.issuedAt < renewAfterMs ? undefined : this.createCookie(session.key, session.visitor)
  }

  /**
   * The browser's nonce if it has one, so that several tabs do not invalidate each other's, or else
   * a new one.
   */
  findOrCreateNonce(header: string | undefined): { hash: string; cookie: string } {
    const known = cookieValues(header, this.#names.nonce).find((value) => /^[A-Za-z0-9_-]{22}$/.test(value))
    const nonce = known ?? randomBytes(16).toString("base64url")
    return { hash: nonceHash(nonce), cookie: `${this.#names.nonce}=${nonce}${this.#attributes}; Max-Age=${nonceSeconds}` }
  }

  hasNonce(header: string | undefined, hash: string): boolean {
    return cookieValues(header, this.#names.nonce).some((value) => nonceHash(value) === hash)
  }

  /** Replaces a used nonce for some seconds. */
  justCreatedCookie(): string {
    return `${this.#names.nonce}=made.${this.#clock.now()}${this.#attributes}; Max-Age=${justCreatedMs / 1000}`
  }

  /**
   * Whether a session was created in this browser a moment ago. If its cookie is missing now,
   * another redirect cannot help.
   */
  wasJustCreated(header: string | undefined): boolean {
    return cookieValues(header, this.#names.nonce).some((value) => {
      const [, at] = /^made\.(\d{1,15})$/.exec(value) ?? []
      return at !== undefined && Math.abs(this.#clock.now() - Number(at)) < justCreatedMs
    })
  }

  #read(value: string): RunSession | undefined {
    const known = this.#young.get(value) ?? this.#old.get(value)
    if (known) return known
    const session = decode(this.#signer.verify(value))
    if (session === undefined) return undefined
    if (this.#young.size >= maxCachedSessions) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(value, session)
    return session
  }
}

function decode(signed: unknown): RunSession | undefined {
  if (!Array.isArray(signed)) return undefined
  const [key, issuedAt, userId, credentialId, scopedRunId] = signed as [string, number, number, string, number | null]
  return { key, issuedAt, visitor: { userId, credentialId, ...(scopedRunId === null ? {} : { scopedRunId }) } }
}

function nonceHash(nonce: string): string {
  return createHash("sha256").update(nonce).digest("base64url")
}
