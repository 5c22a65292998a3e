import type { IncomingMessage, ServerResponse } from "node:http"
import { AuthenticationFailure, readAuthorizationHeader } from "#access"
import { bounds } from "#contract"
import { EventFeed } from "#events"
import { AllowedHosts, anonymousDrain, drainBody, LargeResponseLimiter, PersonLimiter, prefersHtml, TrustedProxies } from "#http"
import { ObjectLimits } from "#projects"
import { ScanLimiter } from "#store"
import type { ServerState, Services } from "./context.ts"
import { controlUpgrades } from "./control.ts"
import { withDiskReserve } from "./disk-reserve.ts"
import { createFeedPolicy } from "./events/feed-policy.ts"
import { AccessLog } from "./http/access-log.ts"
import { FairReads } from "./http/fair-reads.ts"
import { type ListenAddress, Listener } from "./http/listener.ts"
import { RateLimiter, type RateSettings } from "./http/rate-limiter.ts"
import { checkRequestHead } from "./http/request-checks.ts"
import { anonymous, RequestContext, stripAdminPrefix } from "./http/request-context.ts"
import { send, sendFailure, toFailure } from "./http/send.ts"
import { cookieOf, sessionOf } from "./http/session-cookie.ts"
import type { Lane } from "./lane.ts"
import { RequestMetrics } from "./metrics.ts"
import { runOperation } from "./operation.ts"
import { failurePage, type PageHandler, type PageResponse } from "./pages/page.ts"
import { Routes, type RouteTarget } from "./routes.ts"

const { imageChecks, waitingImageChecks } = bounds.containers
const { datasetDirectories, waitingDatasetDirectories, projectCopies, waitingProjectCopies } = bounds.files
const { previews, waitingPreviews, usageReads, waitingUsageReads } = bounds.runs
const { passwordChanges, waitingPasswordChanges } = bounds.accounts
const { changes, waitingChanges, reads, waitingReads } = bounds.rates

/** The HTTP API, the sign-in page and `/open`, routed from the contract's table. */
export interface ApiServer extends AsyncDisposable {
  /** Accepts requests at all of these addresses; rejects if one is in use. */
  listen(addresses: readonly ListenAddress[]): Promise<void>
}

export function createApi(services: Services): ApiServer {
  const routes = new Routes()
  const metrics = new RequestMetrics()
  const accessLog = services.accessLog && new AccessLog(services.accessLog, services.clock)
  const hosts = new AllowedHosts(services.settings.hostNames)
  const proxies = new TrustedProxies(services.settings.trustedProxies)
  const { connections } = services
  const listener: Listener = new Listener(handle, controlUpgrades(services, { hosts, proxies, state: () => server }), {
    connections,
    personOf: (request) => cachedPersonOf(services, request, proxies),
  })
  const { store, identity, events, clock, logger } = services
  listener.ending.addEventListener("abort", () => identity.stopPasswordChecks(), { once: true })
  const feed = new EventFeed({
    ...{ store, clock, logger, policy: createFeedPolicy({ store, identity }) },
    onJournalWrite: (each) => events.onJournalWrite(each),
  })
  feed.start()
  const server: ServerState = {
    ending: listener.ending,
    rateLimiter: new RateLimiter(clock, services.settings.rates),
    objectLimits: new ObjectLimits(clock, services.settings.defaultLimits),
    feed,
    largeResponses: new LargeResponseLimiter(),
    ...personLimiters(services.settings.rates),
    scans: new ScanLimiter(),
    metrics: () => metrics.text(services, listener.pendingRequests),
    reserveServices: withDiskReserve(services),
  }

  /** Does not read the body: the operation does, once the caller is known. */
  function handle(request: IncomingMessage, response: ServerResponse): void {
    const requestContext = new RequestContext(request, response, proxies)
    void serve(requestContext, routes.find(request.method ?? "", requestContext.path))
  }

  async function serve(requestContext: RequestContext, target: RouteTarget | undefined): Promise<void> {
    const started = performance.now()
    const { request, response } = requestContext
    metrics.observe(response, nameOf(target), started)
    try {
      checkRequestHead(request, { hosts, host: requestContext.host })
      if (!target) throw routes.refusal(request.method ?? "", requestContext.path)
      if ("operation" in target) await runOperation(services, target.operation, requestContext, server)
      else await runPage(services, target.page, requestContext, server)
    } catch (error) {
      await sendRefusal(services, requestContext, { error, target, started })
    }
    accessLog?.note(requestContext, routes.has(requestContext.path), performance.now() - started)
  }

  return {
    listen: (addresses) => listener.listen(addresses),
    async [Symbol.asyncDispose]() {
      // Streams never end by themselves, so closing the listener would wait for them.
      await feed[Symbol.asyncDispose]()
      await listener.close()
    },
  }
}

function cachedPersonOf({ identity, settings }: Services, request: IncomingMessage, proxies: TrustedProxies): number | undefined {
  const authorization = readAuthorizationHeader(request.rawHeaders)
  if (authorization instanceof AuthenticationFailure) return undefined
  const session = sessionOf(request, settings.secureCookies)
  return identity.authenticateCached(authorization, session, proxies.clientAddress(request))?.userId
}

function nameOf(target: RouteTarget | undefined): string {
  return target === undefined ? "unknown" : "operation" in target ? target.operation : target.name
}

/** How the body of an authenticated caller's rejected request is drained. */
const drain = { earlyResponseBytes: bounds.http.discardedBytes.value, maxBytes: bounds.http.discardedBytes.value }

/** Sends the refusal. Internal errors are logged; refusals about rights are also audited. */
async function sendRefusal(
  { logger, events }: Services,
  requestContext: RequestContext,
  rejected: { error: unknown; target: RouteTarget | undefined; started: number },
): Promise<void> {
  const { error, target, started } = rejected
  const { path, requestId, address, request, response } = requestContext
  // The caller disconnected: there is nobody to answer.
  if (response.destroyed && (error as Error).name === "AbortError") return
  const failure = toFailure(error)
  if (failure.code === "internal") logger.error({ err: error, requestId, path }, "a request failed")
  else if ([401, 403, 429].includes(failure.status))
    events.requestRefused({ userName: requestContext.userName, address, requestId }, nameOf(target), { code: failure.code })
  try {
    const timeoutMs = Math.max(0, bounds.http.anonymousBodyMs.value - (performance.now() - started))
    const options = requestContext.userName === anonymous ? { ...anonymousDrain, timeoutMs } : drain
    if (!response.headersSent && (await drainBody(request, options))) response.setHeader("connection", "close")
    const isOperation = target !== undefined && "operation" in target
    if (isOperation || !prefersHtml(request)) sendFailure(response, failure, requestId)
    else sendPage(requestContext, failurePage(failure))
  } catch (err) {
    logger.error({ err, requestId, path }, "a refusal could not be sent")
    response.destroy()
  }
}

async function runPage(services: Services, page: PageHandler, requestContext: RequestContext, { reads }: ServerState): Promise<void> {
  const { request, response, requestId, address, queryText, userName } = requestContext
  const secure = services.settings.secureCookies
  const answer = await page(services, {
    session: sessionOf(request, secure),
    cookie: (name) => cookieOf(request, name, secure),
    actor: { userName, address, requestId },
    browser: request.headers["user-agent"],
    query: new URLSearchParams(queryText),
    path: stripAdminPrefix(requestContext.path),
    queryText,
    acceptEncoding: String(request.headers["accept-encoding"] ?? ""),
    reads,
  })
  if (answer.failure && !prefersHtml(request)) sendFailure(response, answer.failure, requestId)
  else sendPage(requestContext, answer)
}

function sendPage({ response, requestId }: RequestContext, answer: PageResponse): void {
  const { "content-type": type = "text/plain; charset=utf-8", ...headers } = answer.headers
  const cookies = (answer.cookies ?? []).flatMap((cookie) => ["set-cookie", cookie])
  send(response, answer.status, answer.body, {
    requestId,
    type,
    cacheControl: answer.cacheControl,
    headers: [...Object.entries(headers).flat(), ...cookies],
  })
}

/** The limits of work that is in progress for one person. */
function personLimiters({ openStreams }: RateSettings) {
  return {
    followedOutputs: limiterOf("followed outputs", openStreams),
    imageChecks: limiterOf("checks of images", imageChecks.value, waitingImageChecks.value),
    changes: limiterOf<Lane>("changes", changes.value, waitingChanges.value),
    passwordChanges: limiterOf<Lane>("changes of the password", passwordChanges.value, waitingPasswordChanges.value),
    reads: new FairReads(limiterOf<Lane>("requests that read", reads.value, waitingReads.value)),
    datasetDirectories: limiterOf("directories of datasets", datasetDirectories.value, waitingDatasetDirectories.value),
    projectCopies: limiterOf("copies of projects", projectCopies.value, waitingProjectCopies.value),
    previews: limiterOf("previews of starts", previews.value, waitingPreviews.value),
    usageReads: limiterOf("reads of the use of runs", usageReads.value, waitingUsageReads.value),
  }
}

function limiterOf<Person = number>(work: string, maxRunning: number, maxWaiting = 0): PersonLimiter<Person> {
  const message = (count: number) => `${count} ${work} of yours are open already; wait until one ends`
  return new PersonLimiter({ maxRunning, maxWaiting, message })
}
