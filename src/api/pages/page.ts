import { readFile } from "node:fs/promises"
import { AuthenticationFailure, type Caller } from "#access"
import { Failure, type FailureCode, failureStatus, parseQuery } from "#contract"
import type { Actor } from "#events"
import type { ServerState, Services } from "../context.ts"
import { escapeHtml } from "./html.ts"

/** A browser's request for a page. */
export interface PageRequest {
  session: string | undefined
  /** Another cookie of Quayside's, by its name without the prefix that TLS gives it. */
  cookie: (name: string) => string | undefined
  actor: Actor
  /** `User-Agent`. */
  browser: string | undefined
  query: URLSearchParams
  /** Without the prefix of the alias. */
  path: string
  /** The query, not parsed. */
  queryText: string
  acceptEncoding: string
  /** Makes the pages of people who are signed in. */
  reads: ServerState["reads"]
}

export interface PageResponse {
  status: number
  headers: Readonly<Record<string, string>>
  /** Values of `Set-Cookie`. */
  cookies?: readonly string[]
  /** Default: not cached. */
  cacheControl?: string
  body: string | Buffer
  /** The same as a failure object, for clients that accept no HTML. */
  failure?: Failure
}

export type PageHandler = (services: Services, request: PageRequest) => Promise<PageResponse>

/**
 * Makes a page that accepts these query parameters, each once, and rejects all others. A token
 * among the others would otherwise be copied into redirects.
 */
export function withParameters(names: readonly string[], page: PageHandler): PageHandler {
  const params = Object.fromEntries(names.map((name) => [name, textParam]))
  return async (services, request) => {
    parseQuery(params, request.queryText)
    return page(services, request)
  }
}
const textParam = { schema: { type: "string" }, repeats: false, parse: (text: string) => text } as const

/** Pages run only their own scripts and styles, call only this origin, and are never framed. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** The window that opened the tab cannot reach into it. */
export const securityHeaders = {
  "content-security-policy": contentSecurityPolicy,
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY",
}

export function redirect(location: string, cookies: readonly string[] = []): PageResponse {
  return { status: 302, headers: { location, ...securityHeaders }, cookies, body: "" }
}

const web = new URL("../../web/", import.meta.url)

/** A file that is served as it stands in `src/web`. It stays in memory after the first read. */
function sourceFile(contentType: string, ...names: string[]): PageHandler {
  let body: Promise<string> | undefined
  return async () => {
    body ??= Promise.all(names.map((name) => readFile(new URL(name, web), "utf8"))).then((texts) => texts.join("\n"))
    return { status: 200, headers: { "content-type": contentType, ...securityHeaders }, body: await body }
  }
}

/** The style of the pages that are made here. They look like the web UI and need no build. */
export const stylePage = sourceFile("text/css; charset=utf-8", "style/tokens.css", "style/server-pages.css")
export const iconPage = sourceFile("image/svg+xml", "icon.svg")

/** A page for people who are signed in. Others sign in first and then get the same address. */
export function forSignedIn(page: (services: Services, request: PageRequest, caller: Caller) => Promise<PageResponse>): PageHandler {
  return async (services, request) => {
    const caller = await sessionCaller(services, request)
    if (!caller) return toSignIn(request)
    const make = () => page(services, request, caller)
    return caller.isAdmin ? make() : request.reads.run(caller.userId, "page", make)
  }
}

function toSignIn({ path, queryText }: PageRequest): PageResponse {
  const query = queryText === "" ? "" : `?${queryText}`
  return redirect(path === "/ui/" ? "/ui/sign-in" : `/ui/sign-in?next=${encodeURIComponent(path + query)}`)
}

async function sessionCaller({ identity }: Services, { session, actor }: PageRequest): Promise<Caller | undefined> {
  if (session === undefined) return undefined
  const caller =
    identity.authenticateCached(undefined, session, actor.address) ?? (await identity.authenticate(undefined, session, actor.address))
  return caller instanceof AuthenticationFailure ? undefined : caller
}

/** A page with one message and one link. */
export function messagePage(status: number, content: { title: string; text: string; link?: { href: string; text: string } }): PageResponse {
  const { href, text } = content.link ?? { href: "/ui/", text: "Your runs" }
  const title = escapeHtml(content.title)
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Quayside</title>
<link rel="icon" href="/ui/icon.svg">
<link rel="stylesheet" href="/ui/style.css">
<main class="card"><p class="brand"><img src="/ui/icon.svg" alt="">Quayside</p><h1>${title}</h1><p>${escapeHtml(content.text)}</p><p><a href="${escapeHtml(href)}">${escapeHtml(text)}</a></p></main>
</html>`
  const failure = status < 400 ? {} : { failure: new Failure(codeOf(status), content.text.replace(/\.$/, ""), { status }) }
  return { status, headers: { "content-type": "text/html; charset=utf-8", ...securityHeaders }, body, ...failure }
}

function codeOf(status: number): FailureCode {
  const [code = "invalid"] = Object.entries(failureStatus).find(([, each]) => each === status) ?? []
  return code as FailureCode
}

/** A failure as a page. */
export function failurePage({ status, message, headers }: Failure): PageResponse {
  const title = status === 404 ? "There is nothing here" : "This does not work"
  const page = messagePage(status, { title, text: `${message}.` })
  return { ...page, headers: { ...page.headers, ...headers } }
}
