import { arrivesFromOutside, comesFromElsewhere, isNavigation, isServiceWorkerScript } from "./browser.ts"
import type { Call } from "./call.ts"
import type { Core } from "./core.ts"
import { answerOwnPath, sendToBase, sessionNotKept, startPath } from "./enter.ts"
import { EntityTags } from "./entity-tags.ts"
import { exchange } from "./exchange.ts"
import type { Target } from "./host.ts"
import { isFrontDoor, isOwn, pathAtOrigin, pathInProgram } from "./paths.ts"
import { checkAddress, countFor, forbidden, notFound, notReady, redirect, unauthorized } from "./refusals.ts"
import type { Session } from "./sessions.ts"

/**
 * Answers a request at a run's own origin, where a signed cookie of that origin is the only proof.
 */
export function answerAtOrigin(core: Core, call: Call, key: string): void | Promise<void> {
  const { request } = call
  const target = /^[0-9a-f]{32}$/.test(key) ? core.host.byKey(key) : undefined
  if (target === undefined || core.ports?.mayServe(target) === false) throw notFound()
  if (core.ports && isServiceWorkerScript(request))
    throw forbidden("No service worker may be registered at a port: other runs will have the port later. Names with TLS rule that out")
  const path = request.url as string
  if (isOwn(path)) return answerOwnPath(core, call, target)
  if (comesFromElsewhere(request, originSaid(core, call)))
    throw forbidden("A page from elsewhere may only lead here, not act or load anything here")
  checkAddress(path)
  const session = core.sessionsOf(target).find(request.headers.cookie, key)
  const may = session !== undefined && core.openings.mayOpen(session.visitor, target)
  if (typeof may !== "boolean") return may.then((yes) => decide(core, call, { target, session: yes ? session : undefined }))
  decide(core, call, { target, session: may ? session : undefined })
}

/** As the browser sees it: its scheme is the apps URL's, its port may be another (a tunnel). */
function originSaid({ addresses }: Core, { request }: Call): string {
  return `${addresses.appsUrl.protocol}//${request.headers.host?.toLowerCase()}`
}

function decide(core: Core, call: Call, { target, session }: { target: Target; session: Session | undefined }): void {
  const { request, response } = call
  if (response.destroyed) return
  if (session) countFor(session.visitor, call)
  const path = request.url as string
  if (session === undefined) return void withoutSession(core, call, { target, path: pathInProgram(target, path) })
  if (leadsToLanding(call, target)) {
    const landing = pathAtOrigin(target, "")
    if (landing !== path) return void redirect(call, landing)
  }
  if (target.address === undefined) throw notReady(target)
  exchange(core, call, {
    form: "origin",
    visitor: session.visitor,
    target,
    address: target.address,
    path,
    shift: "",
    session,
    jar: core.jarOf(target, session.visitor),
    tags: core.ports && new EntityTags(target.key),
  })
}

function withoutSession(core: Core, call: Call, { target, path }: { target: Target; path: string }): void {
  const { request } = call
  if (isNavigation(request) && call.upgrade === undefined) {
    if (core.sessionsOf(target).wasJustMade(request.headers.cookie)) throw sessionNotKept(path)
    return void sendToBase(core, call, { target, path })
  }
  throw unauthorized(
    "No session at this run's address: open it in a browser, or ask with an Authorization header below /run/<ID>/ at the apps URL",
    { title: "Your session has ended", text: "Open the run again to go on.", link: { href: startPath(path), text: "Open the run" } },
  )
}

/**
 * Nothing of a program that lives below `/run/<ID>/` is at `/`; and who comes from elsewhere to a
 * program's front door wants its landing page.
 */
function leadsToLanding({ request, upgrade }: Call, target: Target): boolean {
  if (upgrade !== undefined || !isNavigation(request)) return false
  const path = request.url as string
  if (target.prefix === "keep" && path === "/") return true
  return isFrontDoor(target, path) && arrivesFromOutside(request)
}
