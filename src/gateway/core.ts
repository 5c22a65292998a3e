import type { Callers, Clock, Logger } from "#kit"
import type { Activity } from "./activity.ts"
import type { Addresses } from "./addresses.ts"
import type { GatewayHost } from "./host.ts"
import type { Openings } from "./openings.ts"
import type { Sessions } from "./sessions.ts"
import type { Tickets } from "./tickets.ts"
import type { Pools } from "./upstream/pools.ts"

/** What the parts of one gateway share. */
export interface Core {
  readonly host: GatewayHost
  readonly addresses: Addresses
  readonly callers: Callers
  readonly sessions: Sessions
  readonly tickets: Tickets
  readonly openings: Openings
  readonly activity: Activity
  readonly pools: Pools
  readonly clock: Clock
  readonly logger: Logger
}
