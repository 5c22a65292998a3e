import type { AddressInfo, ListenOptions } from "node:net"
import { type ConnectionLimit, TrustedProxies } from "#http"
import { type Clock, type Logger, Signer, silentLogger, systemClock } from "#kit"
import { Activity } from "./activity.ts"
import { Addresses } from "./addresses.ts"
import { CookieJar } from "./cookie-jar.ts"
import type { Core } from "./core.ts"
import { startPath } from "./enter.ts"
import { answer } from "./front.ts"
import type { GatewayHost, Target } from "./host.ts"
import { Openings } from "./openings.ts"
import type { PortLedger, PortRefusal } from "./port-choice.ts"
import { type PortRange, RunPorts } from "./ports.ts"
import { Servers } from "./servers.ts"
import { Sessions } from "./sessions.ts"
import { originOf, type TicketRequest, Tickets } from "./tickets.ts"
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
  /** Gives runs ports of their own in place of names below the apps URL's host. */
  ports?: PortRange & { ledger: PortLedger; maxPerPerson?: number }
  /** Open requests and sockets of one visitor at one run. Default 4,096. */
  maxOpenPerVisitor?: number
  /** Counts the connections of all ports. Default: they are not counted. */
  connections?: ConnectionLimit
}

export interface Gateway extends AsyncDisposable {
  /**
   * Resolves with the addresses when all are open; when one cannot be, none stays open and it
   * rejects.
   */
  listen(addresses: readonly ListenOptions[]): Promise<AddressInfo[]>
  /**
   * Takes no more connections, lets requests finish for up to `deadlineMs` (default 10,000), then
   * cuts what is left; WebSockets do not count as requests.
   */
  close(options?: { deadlineMs?: number }): Promise<void>
  readonly tickets: { issue(request: TicketRequest): string }
  /**
   * Makes sure that the run has an origin of its own, or says why it has none. To be called before
   * `openAddress` and `tickets.issue`.
   */
  reach(target: Target): Promise<PortRefusal | undefined>
  /** False for a run that has no port, where runs have ports of their own. */
  hasOrigin(target: Target): boolean
  /**
   * Where a signed-in browser begins at the run's own origin. `path` is relative to the program's
   * base; without one its landing page. Throws a `Failure` (503) where it has none.
   */
  openAddress(target: Target, path?: string): string
  /** The run's address in answers: works pasted into a browser, and with a token. */
  urlOf(runId: number): string
  /** How many requests and sockets are open. */
  readonly open: number
  /** Asks again at once about everything that is open, rather than within 2 s. */
  recheck(): Promise<void>
}

const recheckEvery = 2_000

/**
 * The reverse proxy at the apps URL. It listens once `listen` is called. Throws a `TypeError` on
 * addresses and keys that cannot work.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const servers = new Servers((call) => answer(core, call), { logger: options.logger ?? silentLogger, connections: options.connections })
  const core = coreOf(options, servers)
  const end = new AbortController()
  const watching = watch(core, end.signal)
  const close = async ({ deadlineMs = 10_000 } = {}) => {
    await core.ports?.end()
    await servers.close(deadlineMs, () => core.openings.close())
    end.abort()
    core.pools[Symbol.dispose]()
    await watching
  }
  return {
    async listen(addresses) {
      const listening = await servers.listen(addresses)
      await core.ports?.restore(core.host.live())
      return listening
    },
    reach: async (target) => core.ports?.ensure(target),
    close,
    tickets: core.tickets,
    hasOrigin: (target) => core.addresses.originOf(target) !== undefined,
    openAddress: (target, path) => originOf(core.addresses, target) + startPath(path),
    urlOf: (runId) => core.addresses.urlOf(runId),
    get open() {
      return core.openings.size
    },
    recheck: () => recheck(core),
    [Symbol.asyncDispose]: () => close({ deadlineMs: 0 }),
  }
}

function coreOf(options: GatewayOptions, servers: Servers): Core {
  const { host, cookieKey, trustedProxies = [], logger = silentLogger, clock = systemClock } = options
  const ports = options.ports && runPortsOf(options.ports, { servers, host, logger, clock })
  const addresses = new Addresses({ ...options, ports })
  const secure = addresses.trustworthy
  const sessions = new Sessions({ cookieKey, clock, secure })
  const signer = new Signer(cookieKey, "gateway program cookie")
  const byPort = new Map<number, Sessions>()
  const sessionsAt = (port: number) => {
    const known = byPort.get(port) ?? new Sessions({ cookieKey, clock, secure, port })
    byPort.set(port, known)
    return known
  }
  const maxPerPair = options.maxOpenPerVisitor
  return {
    host,
    addresses,
    proxies: new TrustedProxies(trustedProxies),
    ports,
    sessionsOf(target) {
      const port = ports?.portOf(target.key)
      return port === undefined ? sessions : sessionsAt(port)
    },
    jarOf({ key }, { userId }) {
      const port = ports?.portOf(key)
      return port === undefined ? undefined : new CookieJar({ signer, port, key, userId })
    },
    tickets: new Tickets({ cookieKey, clock, addresses }),
    openings: new Openings({ host, clock, logger, ...(maxPerPair === undefined ? {} : { maxPerPair }) }),
    activity: new Activity({ clock, active: (runId) => host.active(runId) }),
    pools: new Pools(),
    clock,
    logger,
  }
}

function runPortsOf(
  { first, last, ledger, maxPerPerson }: NonNullable<GatewayOptions["ports"]>,
  { servers, host, logger, clock }: { servers: Servers; host: GatewayHost; logger: Logger; clock: Clock },
): RunPorts {
  return new RunPorts({
    ...{ range: { first, last }, ledger, maxPerPerson, logger, clock },
    open: (port) => servers.openPort(port),
    isLive: (key) => host.byKey(key) !== undefined,
  })
}

async function watch(core: Core, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await core.clock.sleep(recheckEvery, signal).catch(() => {})
    if (!signal.aborted) void recheck(core).catch((error) => core.logger.error({ err: error }, "rechecking open connections failed"))
  }
}

async function recheck(core: Core): Promise<void> {
  const { host, pools, openings, activity, ports } = core
  ports?.keepOnly(host.live())
  pools.keepOnly((key) => {
    const target = host.byKey(key)
    return target && (target.address ?? "stopping")
  })
  activity.keepOnly((runId) => host.byId(runId) !== undefined)
  await openings.recheck()
}
