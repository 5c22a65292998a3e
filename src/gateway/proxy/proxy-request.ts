import type { ProgramAddress, RunTarget, Visitor } from "../run-directory.ts"
import type { ProgramCookies } from "../sessions/program-cookies.ts"
import type { RunSession } from "../sessions/run-sessions.ts"
import type { RunEntityTags } from "./entity-tags.ts"

/** An authorized request: its visitor, its run, and how it is forwarded. */
export interface ProxyRequest {
  via: "origin" | "path"
  visitor: Visitor
  target: RunTarget
  /** The target's, at the moment of admission. */
  address: ProgramAddress
  /** The request target that the program sees. */
  path: string
  /** Where the client sees the program's `/`, when that is elsewhere. */
  publicPrefix: "" | `/run/${number}`
  /** Set in the origin form. */
  session?: RunSession
  /** Set where the origin is a port of a host that has others. */
  programCookies?: ProgramCookies | undefined
  /** Set with `jar`. */
  tags?: RunEntityTags | undefined
}
