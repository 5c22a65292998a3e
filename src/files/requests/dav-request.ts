import type { IncomingMessage, ServerResponse } from "node:http"
import type { Access, Authority } from "../access/authority.ts"
import type { OpenCalls } from "../access/open-requests.ts"
import type { Rights } from "../access/rights-cache.ts"
import { forbidden, hidden } from "../failures.ts"
import type { Locks } from "../locks/lock-table.ts"
import type { DeadProperties } from "../properties/dead-properties.ts"
import type { LiveProperties } from "../properties/live-properties.ts"
import type { Workplace } from "../staging/staging-area.ts"
import type { StorageLedger } from "../storage/ledger.ts"
import type { Folder } from "../tree/directory-handle.ts"
import { type Address, pathText } from "./address.ts"
import type { CopyQueue, Turns } from "./request-limiter.ts"
import type { Slices } from "./yielder.ts"

/** What all requests share. */
export interface Scene {
  root: Folder
  rights: Rights
  workplace: Workplace
  live: LiveProperties
  locks: Locks
  properties: DeadProperties
  storage: StorageLedger
  turns: Turns
  copies: CopyQueue
  slices: Slices
  open: OpenCalls
  /** Host names that are ours beside the loopback ones. */
  hosts: ReadonlySet<string>
  report(error: unknown): void
  refused: Authority["refused"]
  limits: Limits
}

export interface Limits {
  /** Entries that a `Depth: infinity` listing may have. */
  deepEntries: number
  /** Milliseconds after which a connection on which nothing moves is closed. */
  stallMs: number
}

export interface Person {
  userId: number
  readOnly: boolean
}

/** One request of a person whose proof held. */
export class Call {
  readonly scene: Scene
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly address: Address
  readonly person: Person
  /** Asks for the proof again; used before something is done that was allowed long ago. */
  readonly renew: () => Promise<void>
  /** Paths that the `If` header names and the caller may read. */
  readableTags: ReadonlySet<string> = new Set()
  readonly #proceed: () => void
  #gone: AbortSignal | undefined

  constructor(parts: Pick<Call, "scene" | "request" | "response" | "address" | "person" | "renew"> & { proceed: () => void }) {
    this.scene = parts.scene
    this.request = parts.request
    this.response = parts.response
    this.address = parts.address
    this.person = parts.person
    this.renew = parts.renew
    this.#proceed = parts.proceed
  }

  get names(): readonly string[] {
    return this.address.names
  }

  get path(): string {
    return pathText(this.address.names)
  }

  /** Aborted when the client closes the connection before it was answered. */
  get gone(): AbortSignal {
    if (this.#gone) return this.#gone
    const controller = new AbortController()
    if (this.response.destroyed) controller.abort()
    this.response.once("close", () => {
      if (!this.response.writableFinished) controller.abort()
    })
    this.#gone = controller.signal
    return this.#gone
  }

  /** Lets a client that waits for `100 Continue` send its body. */
  proceed(): void {
    this.#proceed()
  }

  /** How far the caller may read a path; refuses with 404 what does not exist for them. */
  async visible(names = this.names): Promise<Level> {
    return visible(await this.scene.rights.level(this.person.userId, names, "read"))
  }

  async readable(names = this.names): Promise<void> {
    if ((await this.visible(names)) === "passage") throw forbidden("You may pass through this directory, not read it")
  }

  async writable(names = this.names): Promise<void> {
    assertWritable(visible(await this.scene.rights.level(this.person.userId, names, "write")))
  }

  /** The person for whom counts what is stored there; undefined: nobody. */
  async account(names = this.names): Promise<string | undefined> {
    return (await this.scene.rights.access(this.person.userId, names)).account
  }

  /** May write the entry and put something else in its place, or take it away. */
  async owned(names = this.names): Promise<void> {
    const access = await this.scene.rights.access(this.person.userId, names)
    assertWritable(visible(access.level))
    if (!access.own) throw forbidden("This is the root of a home or a dataset, or holds one: it can be neither deleted, moved nor replaced")
  }
}

type Level = Access["level"]

function visible(level: Level): Level {
  if (level === "none") throw hidden()
  return level
}

function assertWritable(level: Level): void {
  if (level !== "write") throw forbidden("You may not write here")
}
