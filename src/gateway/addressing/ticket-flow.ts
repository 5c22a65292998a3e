import { Failure } from "#contract"
import { isNavigation } from "#http"
import type { GatewayContext } from "../context.ts"
import type { GatewayRequest } from "../gateway-request.ts"
import { PageFailure, redirect } from "../refusals.ts"
import type { RunTarget } from "../run-directory.ts"
import { gatewayPrefix, sanitizePath, toOriginPath } from "./paths.ts"

/** The path that starts the ticket flow at a run's origin. */
export function startPath(path: string | undefined): string {
  const clean = sanitizePath(path)
  return `${gatewayPrefix}start${clean === "" ? "" : `?path=${encodeURIComponent(clean)}`}`
}

/** Answers the gateway's own paths at a run's origin. */
export async function handleGatewayPath(context: GatewayContext, gatewayRequest: GatewayRequest, target: RunTarget): Promise<void> {
  const url = new URL(gatewayRequest.request.url ?? "/", "http://run.invalid")
  const step = url.pathname.slice(gatewayPrefix.length)
  if (step !== "start" && step !== "enter") throw new Failure("not_found", "The gateway has nothing at this path")
  if (!isNavigation(gatewayRequest.request) && gatewayRequest.request.headers["sec-fetch-dest"] !== undefined)
    throw new Failure("forbidden", "This is for the page of a tab only")
  if (gatewayRequest.request.method !== "GET") throw new Failure("method_not_allowed", "GET is wanted here", { headers: { Allow: "GET" } })
  if (step === "enter") return enter(context, gatewayRequest, { target, ticket: url.searchParams.get("ticket") ?? "" })
  const path = sanitizePath(url.searchParams.get("path"))
  if (await hasSession(context, gatewayRequest, target)) return redirect(gatewayRequest, toOriginPath(target, path))
  redirectToSignIn(context, gatewayRequest, { target, path })
}

/**
 * Starts the flow: the browser stores the nonce, and its hash goes to the base URL, which
 * authenticates the person.
 */
export function redirectToSignIn(
  context: GatewayContext,
  gatewayRequest: GatewayRequest,
  { target, path }: { target: RunTarget; path: string },
): void {
  const { hash, cookie } = context.sessionsFor(target).nonce(gatewayRequest.request.headers.cookie)
  redirect(gatewayRequest, context.urls.openUrl(target.id, { nonce: hash, path }), [cookie])
}

/** The port's last run belonged to another project, so the browser must drop that run's storage. */
const clearsOrigin = { "Clear-Site-Data": '"cache", "storage"' }

/** Ends the flow. An error ends in a page, never in another redirect. */
async function enter(
  context: GatewayContext,
  gatewayRequest: GatewayRequest,
  { target, ticket: text }: { target: RunTarget; ticket: string },
): Promise<void> {
  const { cookie } = gatewayRequest.request.headers
  const ticket = context.tickets.read(text)
  const isOurs = ticket !== undefined && ticket.key === target.key
  if (!isOurs || !context.sessionsFor(target).hasNonce(cookie, ticket.nonce) || !context.tickets.use(ticket)) {
    if (isOurs && (await hasSession(context, gatewayRequest, target))) return redirect(gatewayRequest, toOriginPath(target, ticket.path))
    throw cannotEnter(isOurs ? ticket.path : "")
  }
  if (!(await context.connections.canOpen(ticket.visitor, target))) throw cannotEnter(ticket.path)
  const sessions = context.sessionsFor(target)
  const cookies = [sessions.createCookie(target.key, ticket.visitor), sessions.justCreatedCookie()]
  const isHandedOver = context.ports?.isHandedOver(target.key) ?? false
  redirect(gatewayRequest, toOriginPath(target, ticket.path), cookies, isHandedOver ? clearsOrigin : {})
}

async function hasSession(context: GatewayContext, { request }: GatewayRequest, target: RunTarget): Promise<boolean> {
  const session = context.sessionsFor(target).find(request.headers.cookie, target.key)
  return session !== undefined && (await context.connections.canOpen(session.visitor, target))
}

function cannotEnter(path: string): PageFailure {
  return new PageFailure(new Failure("forbidden", "This link was used before, is too old, or was made for another browser"), {
    title: "This link does not open the run",
    text: "It was used before, is older than half a minute, or this browser keeps no cookies for this address.",
    link: { href: startPath(path), text: "Try again" },
  })
}

/** The page that replaces a redirect which would lead back here. */
export function sessionLost(path: string): PageFailure {
  return new PageFailure(
    new Failure("forbidden", "A session was made a moment ago, but the browser did not send it back, or it was ended at once"),
    {
      title: "This browser did not keep its session",
      text: "You were let in a moment ago, but the browser did not send its cookie back, or your right to open this run ended. Cookies must be allowed for this address.",
      link: { href: startPath(path), text: "Try again" },
    },
  )
}
