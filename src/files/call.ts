import type { IncomingMessage, ServerResponse } from "node:http"
import { type Address, pathText } from "./address.ts"
import type { Access } from "./authority.ts"
import type { Folder } from "./descriptor.ts"
import type { LiveProperties } from "./properties.ts"
import { forbidden, notFound } from "./refusal.ts"
import type { Rights } from "./rights.ts"
import type { Workplace } from "./workplace.ts"

/** What all requests share. */
export interface Scene {
  root: Folder
  rights: Rights
  workplace: Workplace
  live: LiveProperties
  report(error: unknown): void
  limits: Limits
}

export interface Limits {
  /** Entries that a `Depth: infinity` listing may have. */
  deepEntries: number
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
  readonly #proceed: () => void

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

  /** Lets a client that waits for `100 Continue` send its body. */
  proceed(): void {
    this.#proceed()
  }

  /** What the caller may do with a path; refuses with 404 what does not exist for them. */
  async visible(names = this.names): Promise<Access> {
    const access = await this.scene.rights.access(this.person.userId, names)
    if (access.level === "none") throw notFound()
    return access
  }

  async readable(names = this.names): Promise<Access> {
    const access = await this.visible(names)
    if (access.level === "passage") throw forbidden("You may pass through this directory, not read it")
    return access
  }

  async writable(names = this.names): Promise<Access> {
    const access = await this.visible(names)
    if (access.level !== "write") throw forbidden("You may not write here")
    return access
  }

  /** May write the entry and put something else in its place, or take it away. */
  async owned(names = this.names): Promise<Access> {
    const access = await this.writable(names)
    if (!access.own) throw forbidden("This is the root of a home or a dataset, or holds one: it can be neither deleted, moved nor replaced")
    return access
  }
}
