import type { AddressInfo, ListenOptions } from "node:net"
import { type ConnectionLimiter, HttpServers, PendingRequests, TrustedProxies } from "#http"
import { type Clock, type Logger, Signer, silentLogger, systemClock } from "#kit"
import type { NoPortReason, PortAssignments, PortRange } from "./addressing/port-choice.ts"
import { RunPortAllocator } from "./addressing/run-port-allocator.ts"
import { RunUrls } from "./addressing/run-urls.ts"
import { ticketStartPath } from "./addressing/ticket-flow.ts"
import type { GatewayContext } from "./context.ts"
import { handleRequest } from "./entry.ts"
import type { GatewayRequest } from "./gateway-request.ts"
import { ActivityReporter } from "./proxy/activity.ts"
import type { RunDirectory, RunTarget } from "./run-directory.ts"
import { createGatewayServer } from "./server.ts"
import { ConnectionRegistry } from "./sessions/connection-registry.ts"
import { ProgramCookies } from "./sessions/program-cookies.ts"
import { RunSessions } from "./sessions/run-sessions.ts"
import { requireOrigin, type TicketRequest, Tickets } from "./sessions/tickets.ts"
import { ConnectionPools } from "./upstream/connection-pools.ts"

export interface GatewayOptions {
  runs: RunDirectory
  /** The address where browsers sign in: `/open` is below it. */
  baseUrl: string
  /** Without a path. Runs get names below its host; a loopback address stands for `localhost`. */
  appsUrl: string
  /** At least 32 bytes, the same in every process that issues or accepts tickets. */
  cookieKey: Buffer
  /** Addresses and networks whose `X-Forwarded-For` counts. Default: none. */
  trustedProxies?: readonly string[]
  logger?: Logger
  clock?: Clock
  /** Assigns runs ports of their own instead of names below the apps URL's host. */
  ports?: PortRange & { ledger: PortAssignments; maxPerPerson?: number }
  /** Open requests and sockets of one visitor at one run. Default 4,096. */
  maxOpenPerVisitor?: number
  /** Connections of a person with bytes in memory for one of their sides. Default 512. */
  maxWaitingPerPerson?: number
  /** Counts the connections of all ports. Default: they are not counted. */
  connections?: ConnectionLimiter
}

export interface Gateway extends AsyncDisposable {
  /**
   * Resolves with the addresses when all are open. If one fails, it closes the others and rejects.
   */
  listen(addresses: readonly ListenOptions[]): Promise<AddressInfo[]>
  /**
   * Accepts no more connections, lets requests finish for up to `deadlineMs` (default 10,000), then
   * cuts the rest. WebSockets do not count as requests.
   */
  close(options?: { deadlineMs?: number }): Promise<void>
  readonly tickets: { issue(request: TicketRequest): string }
  /**
   * Ensures that the run has an origin of its own, or returns the reason why it has none. Call it
   * before `openAddress` and `tickets.issue`.
   */
  ensureOrigin(target: RunTarget): Promise<NoPortReason | undefined>
  /** False for a run without a port, if runs have ports of their own. */
  hasOrigin(target: RunTarget): boolean
  /**
   * The address at which a signed-in browser starts at the run's own origin. `path` is relative to
   * the program's base; without it the landing page. Throws a `Failure` (503) for a run without an
   * origin.
   */
  openUrl(target: RunTarget, path?: string): string
  /** The run's address in responses: it works in a browser and with a token. */
  runUrl(runId: number): string
  /** The number of open requests and sockets. */
  readonly openConnections: number
  /** Rechecks all open connections at once instead of within 2 s. */
  recheck(): Promise<void>
}

const recheckIntervalMs = 2_000

/**
 * The reverse proxy at the apps URL. It listens once `listen` is called. Throws a `TypeError` on
 * invalid addresses and keys.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const servers = createServers(options, (gatewayRequest) => handleRequest(context, gatewayRequest))
  const context = createContext(options, servers)
  const end = new AbortController()
  const watching = watch(context, end.signal)
  const close = async ({ deadlineMs = 10_000 } = {}) => {
    await context.ports?.stop()
    await servers.close({ deadlineMs, stopsListening: "first", beforeCut: () => context.connections.close() })
    end.abort()
    context.pools[Symbol.dispose]()
    await watching
  }
  return {
    async listen(addresses) {
      const listening = await servers.listen(addresses)
      await context.ports?.restore(context.runs.liveTargets())
      return listening
    },
    ensureOrigin: async (target) => context.ports?.ensure(target),
    close,
    tickets: context.tickets,
    hasOrigin: (target) => context.urls.originOf(target) !== undefined,
    openUrl: (target, path) => requireOrigin(context.urls, target) + ticketStartPath(path),
    runUrl: (runId) => context.urls.urlOf(runId),
    get openConnections() {
      return context.connections.size
    },
    recheck: () => recheck(context),
    [Symbol.asyncDispose]: () => close({ deadlineMs: 0 }),
  }
}

function createServers({ connections, logger = silentLogger }: GatewayOptions, handler: (request: GatewayRequest) => void): HttpServers {
  const pending = new PendingRequests()
  const receive = (request: GatewayRequest) => {
    if (servers.isClosing) request.response.shouldKeepAlive = false
    handler(request)
  }
  const servers = new HttpServers({
    createServer: () => createGatewayServer({ handler: receive, connections, pending }),
    pending,
    onError: (error) => logger.error({ err: error }, "the gateway's server failed"),
  })
  return servers
}

function createContext(options: GatewayOptions, servers: HttpServers): GatewayContext {
  const { runs, cookieKey, trustedProxies = [], logger = silentLogger, clock = systemClock } = options
  const ports = options.ports && createRunPorts(options.ports, { servers, runs, logger, clock })
  const urls = new RunUrls({ ...options, ports })
  const secure = urls.isTrustworthy
  const sessions = new RunSessions({ cookieKey, clock, secure })
  const signer = new Signer(cookieKey, "gateway program cookie")
  const byPort = new Map<number, RunSessions>()
  const sessionsAt = (port: number) => {
    const known = byPort.get(port) ?? new RunSessions({ cookieKey, clock, secure, port })
    byPort.set(port, known)
    return known
  }
  const { maxOpenPerVisitor: maxPerPair, maxWaitingPerPerson: maxWaiting } = options
  return {
    runs,
    urls,
    proxies: new TrustedProxies(trustedProxies),
    ports,
    sessionsFor(target) {
      const port = ports?.portOf(target.key)
      return port === undefined ? sessions : sessionsAt(port)
    },
    programCookiesFor({ key }, { userId }) {
      const port = ports?.portOf(key)
      return port === undefined ? undefined : new ProgramCookies({ signer, port, key, userId })
    },
    tickets: new Tickets({ cookieKey, clock, urls, runs }),
    connections: new ConnectionRegistry({
      runs,
      clock,
      logger,
      ...(maxPerPair ? { maxPerPair } : {}),
      ...(maxWaiting ? { maxWaiting } : {}),
    }),
    activity: new ActivityReporter({ clock, recordActivity: (runId) => runs.recordActivity(runId) }),
    pools: new ConnectionPools(),
    clock,
    logger,
  }
}

function createRunPorts(
  { first, last, ledger, maxPerPerson }: NonNullable<GatewayOptions["ports"]>,
  { servers, runs, logger, clock }: { servers: HttpServers; runs: RunDirectory; logger: Logger; clock: Clock },
): RunPortAllocator {
  return new RunPortAllocator({
    ...{ range: { first, last }, ledger, maxPerPerson, logger, clock },
    open: (port) => servers.openPort(port),
    isLive: (key) => runs.byKey(key) !== undefined,
  })
}

async function watch(context: GatewayContext, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await context.clock.sleep(recheckIntervalMs, signal).catch(() => {})
    if (!signal.aborted) void recheck(context).catch((error) => context.logger.error({ err: error }, "rechecking open connections failed"))
  }
}

async function recheck(context: GatewayContext): Promise<void> {
  const { runs, pools, connections, activity, ports } = context
  ports?.retainOnly(runs.liveTargets())
  pools.retainOnly((key) => {
    const target = runs.byKey(key)
    return target && (target.address ?? "stopping")
  })
  activity.retainOnly((runId) => runs.byId(runId) !== undefined)
  await connections.recheck()
}
