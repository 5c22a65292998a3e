import type { TrustedProxies } from "#http"
import type { Clock, Logger } from "#kit"
import type { Activity } from "./activity.ts"
import type { Addresses } from "./addresses.ts"
import type { CookieJar } from "./cookie-jar.ts"
import type { GatewayHost, Target, Visitor } from "./host.ts"
import type { Openings } from "./openings.ts"
import type { RunPorts } from "./ports.ts"
import type { Sessions } from "./sessions.ts"
import type { Tickets } from "./tickets.ts"
import type { Pools } from "./upstream/pools.ts"

/** What the parts of one gateway share. */
export interface Core {
  readonly host: GatewayHost
  readonly addresses: Addresses
  readonly proxies: TrustedProxies
  /** The cookies of this run's origin. */
  sessionsOf(target: Target): Sessions
  /** Undefined where a run's origin has cookies of its own by itself. */
  jarOf(target: Target, visitor: Visitor): CookieJar | undefined
  /** Set where runs have ports of their own. */
  readonly ports: RunPorts | undefined
  readonly tickets: Tickets
  readonly openings: Openings
  readonly activity: Activity
  readonly pools: Pools
  readonly clock: Clock
  readonly logger: Logger
}
