import { isCrossOrigin, isExternalNavigation, isNavigation, isServiceWorkerScript, originOfHost } from "#http"
import type { GatewayContext } from "../context.ts"
import type { GatewayRequest } from "../gateway-request.ts"
import { RunEntityTags } from "../proxy/entity-tags.ts"
import { forwardRequest } from "../proxy/forward-request.ts"
import { assignConnectionToVisitor, checkNoTokenInUrl, forbidden, notFound, notReady, unauthorized } from "../refusals.ts"
import { redirect } from "../responses.ts"
import type { RunTarget } from "../run-directory.ts"
import type { RunSession } from "../sessions/run-sessions.ts"
import { isGatewayPath, isProgramRoot, toOriginPath, toProgramPath } from "./paths.ts"
import { handleRunStatus, isRunStatusPath } from "./run-status.ts"
import { handleGatewayPath, redirectToSignIn, sessionLostFailure, ticketStartPath } from "./ticket-flow.ts"

/**
 * Handles a request at a run's own origin, where only a signed cookie of that origin authenticates.
 */
export function handleRunOrigin(context: GatewayContext, gatewayRequest: GatewayRequest, key: string): void | Promise<void> {
  const { request } = gatewayRequest
  const target = /^[0-9a-f]{32}$/.test(key) ? context.runs.byKey(key) : undefined
  if (target === undefined || context.ports?.canServe(target) === false) throw notFound()
  if (context.ports && isServiceWorkerScript(request))
    throw forbidden("No service worker may be registered at a port: other runs will have the port later. Names with TLS rule that out")
  const path = request.url as string
  if (isGatewayPath(path) && !isRunStatusPath(path)) return handleGatewayPath(context, gatewayRequest, target)
  // The port of the `Host` counts, not that of the apps URL: there may be a tunnel between.
  const ownOrigin = originOfHost(context.urls.appsUrl.protocol, request.headers.host ?? "")
  if (isCrossOrigin(request, ownOrigin)) throw forbidden("A page of another origin may only link here, not act or load anything here")
  checkNoTokenInUrl(path)
  const session = context.sessionsFor(target).find(request.headers.cookie, key)
  const may = session !== undefined && context.connections.canOpen(session.visitor, target)
  if (typeof may !== "boolean") return may.then((yes) => decide(context, gatewayRequest, { target, session: yes ? session : undefined }))
  return decide(context, gatewayRequest, { target, session: may ? session : undefined })
}

function decide(
  context: GatewayContext,
  gatewayRequest: GatewayRequest,
  { target, session }: { target: RunTarget; session: RunSession | undefined },
): void | Promise<void> {
  const { request, response } = gatewayRequest
  if (response.destroyed) return
  if (session) assignConnectionToVisitor(session.visitor, gatewayRequest)
  const path = request.url as string
  if (session === undefined) return void handleMissingSession(context, gatewayRequest, { target, path: toProgramPath(target, path) })
  if (isRunStatusPath(path)) return void handleRunStatus(context, gatewayRequest, target)
  if (leadsToLanding(gatewayRequest, target)) {
    const landing = toOriginPath(target, "")
    if (landing !== path) return void redirect(gatewayRequest, landing)
  }
  if (target.address !== undefined) return forward(context, gatewayRequest, { target, session })
  const routed = context.runs.untilRouted(target.id)
  if (!routed) throw notReady(target)
  return routed.then(() => forward(context, gatewayRequest, { target: context.runs.byId(target.id) ?? target, session }))
}

function forward(
  context: GatewayContext,
  gatewayRequest: GatewayRequest,
  { target, session }: { target: RunTarget; session: RunSession },
): void {
  if (gatewayRequest.response.destroyed) return
  if (target.address === undefined) throw notReady(target)
  const path = gatewayRequest.request.url as string
  forwardRequest(context, gatewayRequest, {
    via: "origin",
    visitor: session.visitor,
    target,
    address: target.address,
    path,
    publicPrefix: "",
    session,
    programCookies: context.programCookiesFor(target, session.visitor),
    entityTags: context.ports && new RunEntityTags(target.key),
  })
}

function handleMissingSession(
  context: GatewayContext,
  gatewayRequest: GatewayRequest,
  { target, path }: { target: RunTarget; path: string },
): void {
  const { request } = gatewayRequest
  if (isNavigation(request) && gatewayRequest.upgrade === undefined) {
    if (context.sessionsFor(target).wasJustCreated(request.headers.cookie)) throw sessionLostFailure(path)
    return void redirectToSignIn(context, gatewayRequest, { target, path })
  }
  throw unauthorized(
    "No session at this run's address: open it in a browser, or send an Authorization header to /run/<ID>/ at the apps URL",
    {
      title: "Your session has ended",
      text: "Open the run again to continue.",
      link: { href: ticketStartPath(path), text: "Open the run" },
    },
  )
}

/**
 * A program below `/run/<ID>/` serves nothing at `/`. A visitor who enters a program's root from
 * another site gets its landing page.
 */
function leadsToLanding({ request, upgrade }: GatewayRequest, target: RunTarget): boolean {
  if (upgrade !== undefined || !isNavigation(request)) return false
  const path = request.url as string
  if (target.prefix === "keep" && path === "/") return true
  return isProgramRoot(target, path) && isExternalNavigation(request)
}
