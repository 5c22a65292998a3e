import type { ProgramAddress, RunTarget, Visitor } from "../run-directory.ts"
import type { ProgramCookies } from "../sessions/program-cookies.ts"
import type { RunSession } from "../sessions/run-sessions.ts"
import type { RunEntityTags } from "./entity-tags.ts"

/** An authorized request: its visitor, its run, and how it is forwarded. */
export interface ProxyRequest {
  via: "origin" | "path"
  visitor: Visitor
  target: RunTarget
  /** The target's address when the request was authorized. */
  address: ProgramAddress
  /** The request target that the program sees. */
  path: string
  /** The client's path of the program's `/`, if that is not `/`. */
  publicPrefix: "" | `/run/${number}`
  /** Set at the run's own origin. */
  session?: RunSession
  /** Set if the origin is a port: the ports of a host share cookies. */
  programCookies?: ProgramCookies | undefined
  /** Set with `programCookies`. */
  entityTags?: RunEntityTags | undefined
}
