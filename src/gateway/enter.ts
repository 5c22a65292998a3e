import { Failure } from "#contract"
import { isNavigation } from "./browser.ts"
import type { Call } from "./call.ts"
import type { Core } from "./core.ts"
import type { Target } from "./host.ts"
import { cleanPath, ownPrefix, pathAtOrigin } from "./paths.ts"
import { Refusal, redirect } from "./refusals.ts"

/** The path that begins the flow at a run's origin. */
export function startPath(path: string | undefined): string {
  const clean = cleanPath(path)
  return `${ownPrefix}start${clean === "" ? "" : `?path=${encodeURIComponent(clean)}`}`
}

/** Answers the gateway's own paths at a run's origin. */
export async function answerOwnPath(core: Core, call: Call, target: Target): Promise<void> {
  const url = new URL(call.request.url ?? "/", "http://run.invalid")
  const step = url.pathname.slice(ownPrefix.length)
  if (step !== "start" && step !== "enter") throw new Failure("not_found", "The gateway has nothing at this path")
  if (!isNavigation(call.request) && call.request.headers["sec-fetch-dest"] !== undefined)
    throw new Failure("forbidden", "This is for the page of a tab only")
  if (call.request.method !== "GET") throw new Failure("method_not_allowed", "GET is wanted here", { headers: { Allow: "GET" } })
  if (step === "enter") return enter(core, call, { target, ticket: url.searchParams.get("ticket") ?? "" })
  const path = cleanPath(url.searchParams.get("path"))
  if (await hasSession(core, call, target)) return redirect(call, pathAtOrigin(target, path))
  sendToBase(core, call, { target, path })
}

/**
 * Begins the flow: the nonce stays with the browser, its hash goes to the base URL, which knows who
 * this is.
 */
export function sendToBase(core: Core, call: Call, { target, path }: { target: Target; path: string }): void {
  const { hash, cookie } = core.sessionsOf(target).nonce(call.request.headers.cookie)
  redirect(call, core.addresses.openUrl(target.id, { nonce: hash, path }), [cookie])
}

/** A port's last run was of another project: what that one stored is not this one's. */
const clearsOrigin = { "Clear-Site-Data": '"cache", "storage"' }

/** Ends the flow. Whatever is wrong ends in a page, never in another round. */
async function enter(core: Core, call: Call, { target, ticket: text }: { target: Target; ticket: string }): Promise<void> {
  const { cookie } = call.request.headers
  const ticket = core.tickets.read(text)
  const isOurs = ticket !== undefined && ticket.key === target.key
  if (!isOurs || !core.sessionsOf(target).hasNonce(cookie, ticket.nonce) || !core.tickets.use(ticket)) {
    if (isOurs && (await hasSession(core, call, target))) return redirect(call, pathAtOrigin(target, ticket.path))
    throw cannotEnter(isOurs ? ticket.path : "")
  }
  if (!(await core.openings.mayOpen(ticket.visitor, target))) throw cannotEnter(ticket.path)
  const sessions = core.sessionsOf(target)
  const cookies = [sessions.cookieFor(target.key, ticket.visitor), sessions.trace()]
  const isHandedOver = core.ports?.isHandedOver(target.key) ?? false
  redirect(call, pathAtOrigin(target, ticket.path), cookies, isHandedOver ? clearsOrigin : {})
}

async function hasSession(core: Core, { request }: Call, target: Target): Promise<boolean> {
  const session = core.sessionsOf(target).find(request.headers.cookie, target.key)
  return session !== undefined && (await core.openings.mayOpen(session.visitor, target))
}

function cannotEnter(path: string): Refusal {
  return new Refusal(new Failure("forbidden", "This link was used before, is too old, or was made for another browser"), {
    title: "This link does not open the run",
    text: "It was used before, is older than half a minute, or this browser keeps no cookies for this address.",
    link: { href: startPath(path), text: "Try again" },
  })
}

/** The page that stands where the next redirect would lead to this one again. */
export function sessionNotKept(path: string): Refusal {
  return new Refusal(
    new Failure("forbidden", "A session was made a moment ago, but the browser did not send it back, or it was ended at once"),
    {
      title: "This browser did not keep its session",
      text: "You were let in a moment ago, but the browser did not send its cookie back, or your right to open this run ended. Cookies must be allowed for this address.",
      link: { href: startPath(path), text: "Try again" },
    },
  )
}
