import type { Address, LiveRun, Visitor } from "../run-directory.ts"
import type { CookieJar } from "../sessions/cookie-jar.ts"
import type { RunSession } from "../sessions/run-sessions.ts"
import type { RunEntityTags } from "./entity-tags.ts"

/** An authorized request: its visitor, its run, and how it is forwarded. */
export interface ProxyRequest {
  form: "origin" | "path"
  visitor: Visitor
  target: LiveRun
  /** The target's, at the moment of admission. */
  address: Address
  /** The request target that the program sees. */
  path: string
  /** Where the client sees the program's `/`, when that is elsewhere. */
  prefix: "" | `/run/${number}`
  /** Set in the origin form. */
  session?: RunSession
  /** Set where the origin is a port of a host that has others. */
  jar?: CookieJar | undefined
  /** Set with `jar`. */
  tags?: RunEntityTags | undefined
}
