import { Failure } from "#contract"
import { declaresOtherOrigin, isBrowserLoad, originOfHost } from "#http"
import type { GatewayContext } from "../context.ts"
import type { GatewayRequest } from "../gateway-request.ts"
import { forwardRequest } from "../proxy/forward-request.ts"
import { assignConnectionToVisitor, auditRefusal, checkNoTokenInUrl, forbidden, notFound, notReady, unauthorized } from "../refusals.ts"
import { redirect, send } from "../responses.ts"
import type { RunTarget, Visitor } from "../run-directory.ts"
import { parseRunPath, sanitizePath } from "./paths.ts"

/**
 * Handles a request at the apps URL itself, where only an `Authorization` header authenticates and
 * nothing is served to browsers.
 */
export async function handleRunPath(context: GatewayContext, gatewayRequest: GatewayRequest): Promise<void> {
  const { request } = gatewayRequest
  const url = request.url as string
  const split = parseRunPath(url)
  if (split === undefined) return answerOtherPath(gatewayRequest, url)
  const { id, rest } = split
  if (request.headers["service-worker"] !== undefined)
    throw forbidden("Service workers cannot be registered here: all runs share this address")
  if (isBrowserLoad(request)) {
    checkNoTokenInUrl(url)
    return redirect(gatewayRequest, context.urls.openUrl(id, { path: sanitizePath(rest) }))
  }
  checkOrigin(context, gatewayRequest)
  const visitor = await identify(context, gatewayRequest)
  assignConnectionToVisitor(visitor, gatewayRequest)
  checkNoTokenInUrl(url)
  const openable = await openableRun(context, gatewayRequest, { visitor, id })
  if (openable.address === undefined) await context.runs.untilRouted(id)
  const target = context.runs.byId(id) ?? openable
  if (gatewayRequest.response.destroyed) return
  if (rest[0] !== "/" && !gatewayRequest.upgrade) return addSlash(gatewayRequest, { id, rest })
  if (target.address === undefined) throw notReady(target)
  const strips = target.prefix === "strip"
  const path = strips ? rest.replace(/^(?!\/)/, "/") : url
  forwardRequest(context, gatewayRequest, {
    via: "path",
    visitor,
    target,
    address: target.address,
    path,
    publicPrefix: strips ? `/run/${id}` : "",
  })
}

function answerOtherPath(gatewayRequest: GatewayRequest, url: string): void {
  if (url === "/healthz") return void send(gatewayRequest, 200, { body: '{"ok":true}', type: "application/json", headers: {} })
  throw new Failure("not_found", "The path must be a run's address: /run/<ID>/")
}

/** Pages of other origins may not send requests here. */
function checkOrigin({ urls }: GatewayContext, { request }: GatewayRequest): void {
  const origins = [urls.appsUrl.origin, originOfHost(urls.appsUrl.protocol, request.headers.host ?? "")]
  if (declaresOtherOrigin(request, origins)) throw forbidden("Pages of other origins cannot send requests here")
}

async function identify(context: GatewayContext, { request }: GatewayRequest): Promise<Visitor> {
  const { authorization } = request.headers
  if (authorization === undefined)
    throw unauthorized("No Authorization header: send Basic (user name with password or token) or Bearer (a token)")
  const found = await context.runs.authenticate(authorization, context.proxies.clientAddress(request))
  if (!("status" in found)) return found
  if (found.status === 401) throw unauthorized(found.msg)
  const retryAfterSeconds = found.retryAfterSeconds ?? (found.status === 403 ? undefined : 2)
  throw new Failure(
    failureCodes[found.status],
    found.msg,
    retryAfterSeconds === undefined ? {} : { headers: { "Retry-After": String(retryAfterSeconds) } },
  )
}

const failureCodes = { 403: "forbidden", 429: "too_many_requests", 503: "unavailable" } as const

/** The run, if it is live and this visitor may open it. Hidden and missing runs look the same. */
async function openableRun(
  context: GatewayContext,
  gatewayRequest: GatewayRequest,
  { visitor, id }: { visitor: Visitor; id: number },
): Promise<RunTarget> {
  const target = context.runs.byId(id)
  if (target === undefined) {
    // A missing run must cost the same as a hidden one.
    if (visitor.scopedRunId === undefined || visitor.scopedRunId === id) await context.runs.canOpen(visitor, id).catch(() => false)
    throw notFound()
  }
  if (await context.connections.canOpen(visitor, target)) return target
  auditRefusal(context, gatewayRequest, { visitor, code: "hidden" })
  throw notFound()
}

/** Relative links in the program's pages need the slash. */
function addSlash(gatewayRequest: GatewayRequest, { id, rest }: { id: number; rest: string }): void {
  send(gatewayRequest, 308, { body: "", type: "text/plain", headers: { Location: `/run/${id}/${rest}` } })
}
