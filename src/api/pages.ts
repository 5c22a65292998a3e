import { readFile } from "node:fs/promises"
import { type Caller, can, Refusal, runThing } from "#access"
import type { RunRow } from "#store"
import type { Services } from "./context.ts"
import { escapeHtml } from "./html.ts"

/** What a browser's page is asked with. */
export interface PageRequest {
  session: string | undefined
  address: string
  query: URLSearchParams
}

export interface PageAnswer {
  status: number
  headers: Readonly<Record<string, string>>
  body: string | Buffer
}

export type Page = (services: Services, request: PageRequest) => Promise<PageAnswer>

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

const security = { "content-security-policy": policy, "referrer-policy": "same-origin", "x-frame-options": "DENY" }

function redirect(location: string): PageAnswer {
  return { status: 302, headers: { location, ...security }, body: "" }
}

const web = new URL("../web/", import.meta.url)
const kinds: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
}

/** A file of the web UI. They are few and small: read once, then kept. */
function file(name: string): Page {
  let body: Promise<Buffer> | undefined
  return async () => {
    body ??= readFile(new URL(name, web))
    const kind = kinds[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream"
    return { status: 200, headers: { "content-type": kind, ...security }, body: await body }
  }
}

async function sessionCaller({ identity }: Services, { session, address }: PageRequest): Promise<Caller | undefined> {
  if (session === undefined) return undefined
  const caller = identity.identifyCached(undefined, session) ?? (await identity.identify(undefined, session, address))
  return caller instanceof Refusal ? undefined : caller
}

function message(status: number, told: { title: string; text: string }): PageAnswer {
  const title = escapeHtml(told.title)
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} · Quayside</title>
<link rel="stylesheet" href="/ui/style.css">
<main class="card"><h1>${title}</h1><p>${escapeHtml(told.text)}</p><p><a href="/ui/">Your runs</a></p></main>
</html>`
  return { status, headers: { "content-type": kinds.html as string, ...security }, body }
}

const noSuchRun = message(404, { title: "No such run", text: "There is no such run, it is over, or you may not open it." })

/** Brings a signed-in browser to a run's own origin: with a nonce of that origin by a one-time ticket, without one to where the nonce is made. */
const open: Page = async (services, request) => {
  const { gateway, runs } = services
  const caller = await sessionCaller(services, request)
  if (!caller) return redirect(`/ui/sign-in?next=${encodeURIComponent(`/open?${request.query}`)}`)
  const id = Number(request.query.get("ID") ?? Number.NaN)
  const target = Number.isSafeInteger(id) ? runs.target(id) : undefined
  const run = target && (await services.store.runs.get(id))
  if (!target || !run || !(await mayOpen(services, caller, run))) return noSuchRun
  const nonce = request.query.get("nonce")
  const path = request.query.get("path") ?? undefined
  if (nonce === null) return redirect(gateway.openAddress(target, path))
  const visitor = { userId: caller.userId, proofId: caller.proof.id }
  return redirect(gateway.tickets.issue({ visitor, target, nonce, path }))
}

async function mayOpen({ store }: Services, caller: Caller, run: RunRow): Promise<boolean> {
  const project = await store.projects.get(run.projectId)
  return can(caller, "run:open", runThing(run, project?.userId)) === "yes"
}

const home: Page = async (services, request) => {
  if (!(await sessionCaller(services, request))) return redirect("/ui/sign-in")
  return file("home.html")(services, request)
}

/** What a browser is served at the base URL, beside the API. */
export const pages: Readonly<Record<string, Page>> = {
  "/": async () => redirect("/ui/"),
  "/open": open,
  "/ui/": home,
  "/ui/sign-in": file("sign-in.html"),
  "/ui/style.css": file("style.css"),
  "/ui/sign-in.js": file("sign-in.js"),
  "/ui/home.js": file("home.js"),
  "/ui/icon.svg": file("icon.svg"),
}
