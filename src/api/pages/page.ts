import { readFile } from "node:fs/promises"
import { type Caller, Refusal } from "#access"
import { Failure, type FailureCode, failureStatus, parseQuery } from "#contract"
import type { Actor } from "#events"
import type { Services } from "../context.ts"
import { escapeHtml } from "./html.ts"

/** What a browser's page is asked with. */
export interface PageRequest {
  session: string | undefined
  /** Another cookie of Quayside's, by its name without the prefix that TLS gives it. */
  cookie: (name: string) => string | undefined
  actor: Actor
  query: URLSearchParams
  /** The query as it came. */
  queryText: string
}

export interface PageAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  /** Values of `Set-Cookie`. */
  cookies?: readonly string[]
  body: string | Buffer
  /** What it says, for who would not read a page. */
  failure?: Failure
}

export type Page = (services: Services, request: PageRequest) => Promise<PageAnswer>

/**
 * The page with these query parameters and no others, each once, as at every operation: a token
 * among others would be carried on.
 */
export function withParameters(names: readonly string[], page: Page): Page {
  const params = Object.fromEntries(names.map((name) => [name, textParam]))
  return async (services, request) => {
    parseQuery(params, request.queryText)
    return page(services, request)
  }
}
const textParam = { schema: { type: "string" }, repeats: false, parse: (text: string) => text } as const

/** Pages run their own scripts and styles, speak to this origin alone and are never framed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ")

/** Whoever opened the tab has no hold on it, wherever it is led from here. */
export const security = {
  "content-security-policy": policy,
  "cross-origin-opener-policy": "same-origin",
  "referrer-policy": "same-origin",
  "x-frame-options": "DENY",
}

export function redirect(location: string, cookies: readonly string[] = []): PageAnswer {
  return { status: 302, headers: { location, ...security }, cookies, body: "" }
}

const web = new URL("../../web/", import.meta.url)
const kinds: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
}

/** A file of the web UI. They are few and small: read once, then kept. */
export function file(name: string): Page {
  let body: Promise<Buffer> | undefined
  return async () => {
    body ??= readFile(new URL(name, web))
    const kind = kinds[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream"
    return { status: 200, headers: { "content-type": kind, ...security }, body: await body }
  }
}

export async function sessionCaller({ identity }: Services, { session, actor }: PageRequest): Promise<Caller | undefined> {
  if (session === undefined) return undefined
  const caller =
    identity.authenticateCached(undefined, session, actor.address) ?? (await identity.authenticate(undefined, session, actor.address))
  return caller instanceof Refusal ? undefined : caller
}

/** A page that tells one thing and leads on. */
export function message(status: number, told: { title: string; text: string; link?: { href: string; text: string } }): PageAnswer {
  const { href, text } = told.link ?? { href: "/ui/", text: "Your runs" }
  const title = escapeHtml(told.title)
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Quayside</title>
<link rel="icon" href="/ui/icon.svg">
<link rel="stylesheet" href="/ui/style.css">
<main class="card"><h1>${title}</h1><p>${escapeHtml(told.text)}</p><p><a href="${escapeHtml(href)}">${escapeHtml(text)}</a></p></main>
</html>`
  const failure = status < 400 ? {} : { failure: new Failure(codeOf(status), told.text.replace(/\.$/, ""), { status }) }
  return { status, headers: { "content-type": kinds.html as string, ...security }, body, ...failure }
}

function codeOf(status: number): FailureCode {
  const [code = "invalid"] = Object.entries(failureStatus).find(([, each]) => each === status) ?? []
  return code as FailureCode
}

/** A failure as a person in front of a browser reads it. */
export function failurePage({ status, message: said, headers }: Failure): PageAnswer {
  const title = status === 404 ? "There is nothing here" : "This does not work"
  const page = message(status, { title, text: `${said}.` })
  return { ...page, headers: { ...page.headers, ...headers } }
}
