import { type Caller, isAllowed, runResource } from "#access"
import type { RunRow } from "#store"
import type { Services } from "../context.ts"
import { openIdPages, signIn } from "./openid.ts"
import { file, message, type Page, type PageAnswer, redirect, sessionCaller, withParameters } from "./page.ts"

const noSuchRun = message(404, { title: "No such run", text: "There is no such run, or you may not open it." })

/** Told only to those who may open it: others learn nothing of runs. */
function over({ state, reason }: RunRow): PageAnswer {
  const text = reason ? `${reason.msg}.` : "It does not run any more."
  return message(404, { title: state === "failed" ? "This run failed" : "This run is over", text })
}

const title = "No address for browsers is free"
const withToken = "Programs reach the run with a token as ever."

/** A port is never somebody else's later, so that the ports come to an end. */
const noPort = {
  person: message(503, {
    title,
    text: `Here each run needs a port of its own, and the person who started this one has as many ports as one person may have. Stop another run, or ask an administrator to raise QUAYSIDE_APPS_PORTS_PER_PERSON. ${withToken}`,
  }),
  range: message(503, {
    title,
    text: `Here each run needs a port of its own, a port stays one person's for ever, and all ports belong to somebody. Ask an administrator to enlarge QUAYSIDE_APPS_PORTS. ${withToken}`,
  }),
  blocked: message(503, {
    title,
    text: `Here each run needs a port of its own, and other programs listen on the ports that are left. Try again in ten seconds, or ask an administrator to keep QUAYSIDE_APPS_PORTS free of other services. ${withToken}`,
  }),
}

/**
 * Brings a signed-in browser to a run's own origin: with a nonce of that origin by a one-time
 * ticket, without one to where the nonce is made.
 */
const open: Page = async (services, request) => {
  const { gateway, runs } = services
  const caller = await sessionCaller(services, request)
  if (!caller) return redirect(`/ui/sign-in?next=${encodeURIComponent(`/open?${request.query}`)}`)
  const id = Number(request.query.get("ID") ?? Number.NaN)
  const run = await services.store.runs.get(Number.isSafeInteger(id) ? id : 0)
  const may = await mayOpen(services, caller, run)
  if (run && !may) services.events.requestRefused({ ...request.actor, userName: caller.userName }, "openRun", { code: "hidden" })
  if (!run || !may) return noSuchRun
  const target = runs.target(id)
  if (!target) return over(run)
  const refusal = await gateway.ensureOrigin(target)
  if (refusal) return noPort[refusal]
  const nonce = request.query.get("nonce")
  const path = request.query.get("path") ?? undefined
  if (nonce === null) return redirect(gateway.openUrl(target, path))
  const visitor = { userId: caller.userId, credentialId: caller.credential.id }
  return redirect(gateway.tickets.issue({ visitor, target, nonce, path }))
}

/**
 * Asks for project and grants also where there is no run: what is hidden costs no other queries
 * than what never was.
 */
async function mayOpen({ store }: Services, caller: Caller, run: RunRow | undefined): Promise<boolean> {
  const project = await store.projects.get(run?.projectId ?? 0)
  return isAllowed(store, caller, "run:open", run && runResource(run, project?.userId))
}

const home: Page = async (services, request) => {
  if (!(await sessionCaller(services, request))) return redirect("/ui/sign-in")
  return file("home.html")(services, request)
}

/** What a browser is served at the base URL, beside the API. */
export const pages: Readonly<Record<string, Page>> = {
  "/": async () => redirect("/ui/"),
  "/open": withParameters(["ID", "nonce", "path"], open),
  "/ui/": home,
  "/ui/sign-in": signIn,
  ...openIdPages,
  "/ui/style.css": file("style.css"),
  "/ui/sign-in.js": file("sign-in.js"),
  "/ui/home.js": file("home.js"),
  "/ui/icon.svg": file("icon.svg"),
}
