import type { TrustedProxies } from "#http"
import type { Clock, Logger } from "#kit"
import type { RunPortAllocator } from "./addressing/run-port-allocator.ts"
import type { RunUrls } from "./addressing/run-urls.ts"
import type { ActivityReporter } from "./proxy/activity.ts"
import type { RunDirectory, RunTarget, Visitor } from "./run-directory.ts"
import type { ConnectionRegistry } from "./sessions/connection-registry.ts"
import type { ProgramCookies } from "./sessions/program-cookies.ts"
import type { RunSessions } from "./sessions/run-sessions.ts"
import type { Tickets } from "./sessions/tickets.ts"
import type { ConnectionPools } from "./upstream/connection-pools.ts"

/** The shared dependencies of one gateway. */
export interface GatewayContext {
  readonly runs: RunDirectory
  readonly urls: RunUrls
  readonly proxies: TrustedProxies
  /** The cookies of this run's origin. */
  sessionsFor(target: RunTarget): RunSessions
  /** Undefined if each run's origin is a host of its own, whose cookies browsers separate. */
  programCookiesFor(target: RunTarget, visitor: Visitor): ProgramCookies | undefined
  /** Set if runs have ports of their own. */
  readonly ports: RunPortAllocator | undefined
  readonly tickets: Tickets
  readonly connections: ConnectionRegistry
  readonly activity: ActivityReporter
  readonly pools: ConnectionPools
  readonly clock: Clock
  readonly logger: Logger
}
