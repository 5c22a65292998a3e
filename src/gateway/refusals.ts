import { Failure } from "#contract"
import { anonymousDrain, assignConnection, drainBody, hasBody, prefersHtml, tooManyConnections } from "#http"
import type { GatewayContext } from "./context.ts"
import type { GatewayRequest } from "./gateway-request.ts"
import { type PageContent, renderPage } from "./pages.ts"
import { send } from "./responses.ts"
import type { RunTarget, Visitor } from "./run-directory.ts"

/** A failure with the page that explains it to a person. */
export class PageFailure extends Failure {
  readonly page: PageContent
  /** The run whose page tells more. */
  readonly runId: number | undefined

  constructor(failure: Failure, page: PageContent, runId?: number) {
    super(failure.code, failure.message, { status: failure.status, headers: failure.headers })
    this.page = page
    this.runId = runId
  }
}

export function notFound(): PageFailure {
  const msg = "There is no such run, or it has ended"
  return new PageFailure(new Failure("not_found", msg), { title: "No such run", text: `${msg}.` })
}

export function forbidden(msg: string): Failure {
  return new Failure("forbidden", msg)
}

/** A token in the URL is not accepted: it would reach the program and everybody's logs. */
export function checkNoTokenInUrl(url: string): void {
  if (!/[?&=]q[sf]_[A-Za-z0-9_-]{40}/.test(url)) return
  throw new Failure("invalid", "Send the token in the Authorization header, not in the URL", { field: "Authorization" })
}

/** The present step of a run that is not ready, for people. */
const waitingTexts: Readonly<Record<string, string>> = {
  queued: "The run waits in the queue until there is room for it.",
  pulling: "The run's image is being fetched. A large one can take some minutes.",
  creating: "The run's container is being created.",
  starting: "The run's program is starting.",
  stopping: "The run is being stopped.",
}

export function notReady(target: RunTarget): PageFailure {
  const state = target.state === "ready" ? "starting" : target.state
  const msg = `The run is not ready: it is ${state}`
  return new PageFailure(
    new Failure("unavailable", msg, { headers: { "Retry-After": "2" } }),
    { title: "Not ready yet", text: `${waitingTexts[state] ?? waitingTexts.starting} This page reloads by itself.`, refreshSeconds: 2 },
    target.id,
  )
}

export function unavailable(why: "silent" | "malformed", runId: number): PageFailure {
  const msg =
    why === "silent" ? "The run's program does not answer at its port" : "The run's program answered with something that is not HTTP"
  return new PageFailure(
    new Failure("unavailable", msg, { headers: { "Retry-After": "2" } }),
    { title: "The program does not answer", text: `${msg}. It may still be starting, be busy, or have ended.`, refreshSeconds: 5 },
    runId,
  )
}

export function unauthorized(msg: string, page?: PageContent): Failure {
  const failure = new Failure("unauthorized", msg, { headers: { "WWW-Authenticate": "Bearer" } })
  return page ? new PageFailure(failure, page) : failure
}

/** Counts the connection for the person who authenticated on it. */
export function assignConnectionToVisitor({ userId }: Visitor, gatewayRequest: GatewayRequest): void {
  gatewayRequest.isAuthenticated = true
  if (assignConnection(gatewayRequest.request.socket, userId)) return
  throw tooManyConnections()
}

/** Reports a rejected request to the run directory. */
export function auditRefusal(
  { runs, proxies }: GatewayContext,
  gatewayRequest: GatewayRequest,
  { visitor, code }: { visitor?: Visitor; code: string },
): void {
  runs.recordRefusal({ visitor, address: proxies.clientAddress(gatewayRequest.request), code })
}

/**
 * Answers with a failure: JSON for programs, a page for people. A response that has already begun
 * is cut.
 */
export function sendFailure(context: GatewayContext, gatewayRequest: GatewayRequest, error: unknown): void {
  const { response, request } = gatewayRequest
  if (error instanceof Failure && isAudited(error)) auditRefusal(context, gatewayRequest, { code: error.code })
  if (response.headersSent || response.destroyed) return void response.destroy()
  if (gatewayRequest.isAuthenticated || gatewayRequest.upgrade || !hasBody(request) || request.complete)
    return void answerFailure(context, gatewayRequest, error)
  // Node would read on to the end of the body, however long it is.
  drainBody(request, { ...anonymousDrain, ...(gatewayRequest.expects ? { earlyResponseBytes: 0 } : {}) }).then(
    (ends) => {
      if (ends) response.shouldKeepAlive = false
      answerFailure(context, gatewayRequest, error)
    },
    () => response.destroy(),
  )
}

function answerFailure(context: GatewayContext, gatewayRequest: GatewayRequest, error: unknown): void {
  const { response, request } = gatewayRequest
  if (response.headersSent || response.destroyed) return void response.destroy()
  const failure = error instanceof Failure ? error : new Failure("internal", "Something went wrong in the gateway; see its log")
  if (failure !== error) context.logger.error({ err: error }, "a request failed in the gateway")
  if (!prefersHtml(request))
    return void send(gatewayRequest, failure.status, {
      body: JSON.stringify(failure.toBody()),
      type: "application/json",
      headers: failure.headers,
    })
  const link = linkOf(context, failure)
  const page =
    failure instanceof PageFailure ? { link, ...failure.page } : { link, title: "This does not work", text: `${failure.message}.` }
  const refresh = page.refreshSeconds === undefined ? {} : { Refresh: String(page.refreshSeconds) }
  send(gatewayRequest, failure.status, { body: renderPage(page), type: "text/html", headers: { ...failure.headers, ...refresh } })
}

/** The page of the run if the failure is about one, and otherwise the list of runs. */
function linkOf({ urls }: GatewayContext, failure: Failure) {
  const runId = failure instanceof PageFailure ? failure.runId : undefined
  if (runId === undefined) return { href: urls.baseUrl.href, text: "Your runs" }
  return { href: new URL(`/ui/runs/${runId}`, urls.baseUrl).href, text: "What the run does" }
}

function isAudited({ status }: Failure): boolean {
  return status === 401 || status === 403 || status === 429
}
