import type { CookieJar } from "./cookie-jar.ts"
import type { EntityTags } from "./entity-tags.ts"
import type { Address, Target, Visitor } from "./host.ts"
import type { Session } from "./sessions.ts"

/** A request that may pass: who asks, for what, and how it crosses. */
export interface Passage {
  form: "origin" | "path"
  visitor: Visitor
  target: Target
  /** The target's, at the moment of admission. */
  address: Address
  /** The request target that the program sees. */
  path: string
  /** Where the client sees the program's `/`, when that is elsewhere. */
  shift: "" | `/run/${number}`
  /** Set in the origin form. */
  session?: Session
  /** Set where the origin is a port of a host that has others. */
  jar?: CookieJar | undefined
  /** Set with `jar`. */
  tags?: EntityTags | undefined
}
