import { Failure } from "#contract"
import { isNavigation } from "#http"
import type { GatewayContext } from "../context.ts"
import type { GatewayRequest } from "../gateway-request.ts"
import { PageFailure } from "../refusals.ts"
import { redirect } from "../responses.ts"
import type { RunTarget } from "../run-directory.ts"
import { gatewayPrefix, sanitizePath, toOriginPath } from "./paths.ts"

/** The path that starts the ticket flow at a run's origin. */
export function ticketStartPath(path: string | undefined): string {
  const clean = sanitizePath(path)
  return `${gatewayPrefix}start${clean === "" ? "" : `?path=${encodeURIComponent(clean)}`}`
}

/** Answers the gateway's own paths at a run's origin. */
export async function handleGatewayPath(context: GatewayContext, gatewayRequest: GatewayRequest, target: RunTarget): Promise<void> {
  const url = new URL(gatewayRequest.request.url ?? "/", "http://run.invalid")
  const step = url.pathname.slice(gatewayPrefix.length)
  if (step !== "start" && step !== "enter") throw new Failure("not_found", "There is no such path of the gateway")
  if (!isNavigation(gatewayRequest.request) && gatewayRequest.request.headers["sec-fetch-dest"] !== undefined)
    throw new Failure("forbidden", "Only a tab's top-level navigation may request this path")
  if (gatewayRequest.request.method !== "GET")
    throw new Failure("method_not_allowed", "The method must be GET", { headers: { Allow: "GET" } })
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
  const { hash, cookie } = context.sessionsFor(target).findOrCreateNonce(gatewayRequest.request.headers.cookie)
  redirect(gatewayRequest, context.urls.openUrl(target.id, { nonce: hash, path }), [cookie])
}

/** The port's last run belonged to another project, so the browser must drop that run's storage. */
const clearsOrigin = { "Clear-Site-Data": '"cache", "storage"' }

/** Ends the flow. An error leads to a page, never to another redirect. */
async function enter(
  context: GatewayContext,
  gatewayRequest: GatewayRequest,
  { target, ticket: text }: { target: RunTarget; ticket: string },
): Promise<void> {
  const { cookie } = gatewayRequest.request.headers
  const ticket = context.tickets.read(text)
  const isForRun = ticket !== undefined && ticket.key === target.key
  if (!isForRun || !context.sessionsFor(target).hasNonce(cookie, ticket.nonce) || !(await context.tickets.use(ticket))) {
    if (isForRun && (await hasSession(context, gatewayRequest, target))) return redirect(gatewayRequest, toOriginPath(target, ticket.path))
    throw cannotEnter(isForRun ? ticket.path : "")
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
  return new PageFailure(new Failure("forbidden", "This link was already used, has expired, or was issued to another browser"), {
    title: "This link does not open the run",
    text: "It was already used, is older than half a minute, or this browser blocks cookies for this address.",
    link: { href: ticketStartPath(path), text: "Try again" },
  })
}

/** The page that replaces a redirect which would lead back here. */
export function sessionLostFailure(path: string): PageFailure {
  return new PageFailure(
    new Failure("forbidden", "A session was just created, but the browser did not send its cookie, or the session has ended"),
    {
      title: "This browser did not keep its session",
      text: "You just signed in, but the browser did not send its cookie back, or you lost the right to open this run. Allow cookies for this address.",
      link: { href: ticketStartPath(path), text: "Try again" },
    },
  )
}
