import { Failure } from "#contract"
import { isBrowserLoad, saysElsewhere } from "./browser.ts"
import type { Call } from "./call.ts"
import type { Core } from "./core.ts"
import { exchange } from "./exchange.ts"
import type { Target, Visitor } from "./host.ts"
import { cleanPath, splitRunPath } from "./paths.ts"
import { checkAddress, countFor, forbidden, noteRefusal, notFound, notReady, redirect, send, unauthorized } from "./refusals.ts"

/**
 * Answers a request at the apps URL itself, where an `Authorization` header is the only proof and
 * browsers load nothing.
 */
export async function answerAtPath(core: Core, call: Call): Promise<void> {
  const { request } = call
  const url = request.url as string
  const split = splitRunPath(url)
  if (split === undefined) return answerBeside(call, url)
  const { id, rest } = split
  if (request.headers["service-worker"] !== undefined)
    throw forbidden("No service worker may be registered here: all runs share this address")
  if (isBrowserLoad(request)) {
    checkAddress(url)
    return redirect(call, core.addresses.openUrl(id, { path: cleanPath(rest) }))
  }
  checkPlace(core, call)
  const visitor = await identify(core, call)
  countFor(visitor, call)
  checkAddress(url)
  const target = await admitted(core, call, { visitor, id })
  if (call.response.destroyed) return
  if (rest[0] !== "/" && !call.upgrade) return addSlash(call, { id, rest })
  if (target.address === undefined) throw notReady(target)
  const strips = target.prefix === "strip"
  const path = strips ? rest.replace(/^(?!\/)/, "/") : url
  exchange(core, call, { form: "path", visitor, target, address: target.address, path, shift: strips ? `/run/${id}` : "" })
}

function answerBeside(call: Call, url: string): void {
  if (url === "/healthz") return void send(call, 200, { body: '{"ok":true}', type: "application/json", headers: {} })
  throw new Failure("not_found", "A run's address is wanted: /run/<ID>/")
}

/** No browser's page may ask here. */
function checkPlace({ addresses }: Core, { request }: Call): void {
  const { host = "" } = request.headers
  const origins = [addresses.appsUrl.origin, `${addresses.appsUrl.protocol}//${host.toLowerCase()}`]
  if (saysElsewhere(request, origins)) throw forbidden("A page from elsewhere may not ask anything here")
}

async function identify(core: Core, { request }: Call): Promise<Visitor> {
  const { authorization } = request.headers
  if (authorization === undefined)
    throw unauthorized("No Authorization header: Basic (user name with password or token) or Bearer (a token) is wanted")
  const found = await core.host.identify(authorization, core.proxies.clientAddress(request))
  if (!("status" in found)) return found
  if (found.status === 401) throw unauthorized(found.msg)
  const wait = found.retryAfterSeconds ?? (found.status === 403 ? undefined : 2)
  throw new Failure(refusedProof[found.status], found.msg, wait === undefined ? {} : { headers: { "Retry-After": String(wait) } })
}

const refusedProof = { 403: "forbidden", 429: "too_many_requests", 503: "unavailable" } as const

/** The run, when it is live and this visitor may open it: hidden and missing look the same. */
async function admitted(core: Core, call: Call, { visitor, id }: { visitor: Visitor; id: number }): Promise<Target> {
  const target = core.host.byId(id)
  if (target === undefined) {
    // What is not there costs what is hidden does.
    if (visitor.onlyRun === undefined || visitor.onlyRun === id) await core.host.mayOpen(visitor, id).catch(() => false)
    throw notFound()
  }
  if (await core.openings.mayOpen(visitor, target)) return target
  noteRefusal(core, call, { visitor, code: "hidden" })
  throw notFound()
}

/** Relative links in the program's pages need the slash. */
function addSlash(call: Call, { id, rest }: { id: number; rest: string }): void {
  send(call, 308, { body: "", type: "text/plain", headers: { Location: `/run/${id}/${rest}` } })
}
