import type { AddressInfo, ListenOptions } from "node:net"
import { Callers, type Clock, type Logger, silentLogger, systemClock } from "#kit"
import { Activity } from "./activity.ts"
import { Addresses } from "./addresses.ts"
import type { Core } from "./core.ts"
import { startPath } from "./enter.ts"
import type { GatewayHost, Target } from "./host.ts"
import { Openings } from "./openings.ts"
import { Servers } from "./servers.ts"
import { Sessions } from "./sessions.ts"
import { type TicketRequest, Tickets } from "./tickets.ts"
import { Pools } from "./upstream/pools.ts"

export interface GatewayOptions {
  host: GatewayHost
  /** Where browsers sign in: `/open` lies below it. */
  baseUrl: string
  /** Without a path. Runs get names below its host; a loopback address stands for `localhost`. */
  appsUrl: string
  /** At least 32 bytes, the same in every process that issues or takes tickets. */
  cookieKey: Buffer
  /** Addresses and networks whose `X-Forwarded-For` counts. Default: none. */
  trustedProxies?: readonly string[]
  logger?: Logger
  clock?: Clock
  /** Open requests and sockets of one visitor at one run. Default 4,096. */
  maxOpenPerVisitor?: number
}

export interface Gateway extends AsyncDisposable {
  /** Resolves with the addresses when all are open; when one cannot be, none stays open and it rejects. */
  listen(addresses: readonly ListenOptions[]): Promise<AddressInfo[]>
  /** Takes no more connections, lets requests finish for up to `deadlineMs` (default 10,000), then cuts what is left; WebSockets do not count as requests. */
  close(options?: { deadlineMs?: number }): Promise<void>
  readonly tickets: { issue(request: TicketRequest): string }
  /** Where a signed-in browser begins at the run's own origin. `path` is relative to the program's base; without one its landing page. */
  openAddress(target: Target, path?: string): string
  /** The run's address in answers: works pasted into a browser, and with a token. */
  urlOf(runId: number): string
  /** How many requests and sockets are open. */
  readonly open: number
  /** Asks again at once about everything that is open, rather than within 2 s. */
  recheck(): Promise<void>
}

const recheckEvery = 2_000

/** The reverse proxy at the apps URL. It listens once `listen` is called. Throws a `TypeError` on addresses and keys that cannot work. */
export function createGateway(options: GatewayOptions): Gateway {
  const core = coreOf(options)
  const servers = new Servers(core)
  const end = new AbortController()
  const watching = watch(core, end.signal)
  const close = async ({ deadlineMs = 10_000 } = {}) => {
    await servers.close(deadlineMs)
    end.abort()
    core.pools[Symbol.dispose]()
    await watching
  }
  return {
    listen: (addresses) => servers.listen(addresses),
    close,
    tickets: core.tickets,
    openAddress: (target, path) => core.addresses.originOf(target) + startPath(path),
    urlOf: (runId) => core.addresses.urlOf(runId),
    get open() {
      return core.openings.size
    },
    recheck: () => recheck(core),
    [Symbol.asyncDispose]: () => close({ deadlineMs: 0 }),
  }
}

function coreOf(options: GatewayOptions): Core {
  const { host, cookieKey, trustedProxies = [], logger = silentLogger, clock = systemClock } = options
  const addresses = new Addresses(options)
  const maxPerPair = options.maxOpenPerVisitor
  return {
    host,
    addresses,
    callers: new Callers(trustedProxies),
    sessions: new Sessions({ cookieKey, clock, secure: addresses.trustworthy }),
    tickets: new Tickets({ cookieKey, clock, addresses }),
    openings: new Openings({ host, clock, logger, ...(maxPerPair === undefined ? {} : { maxPerPair }) }),
    activity: new Activity({ clock, active: (runId) => host.active(runId) }),
    pools: new Pools(),
    clock,
    logger,
  }
}

async function watch(core: Core, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await core.clock.sleep(recheckEvery, signal).catch(() => {})
    if (!signal.aborted) void recheck(core).catch((error) => core.logger.error({ err: error }, "rechecking open connections failed"))
  }
}

async function recheck(core: Core): Promise<void> {
  const { host, pools, openings, activity } = core
  pools.keepOnly((key) => {
    const target = host.byKey(key)
    return target && (target.address ?? "stopping")
  })
  activity.keepOnly((runId) => host.byId(runId) !== undefined)
  await openings.recheck()
}
