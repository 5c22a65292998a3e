import { type Caller, isAllowed, runResource } from "#access"
import type { RunRow } from "#store"
import type { Services } from "../context.ts"
import { openIdPages } from "./openid.ts"
import { forSignedIn, iconPage, messagePage, type PageHandler, type PageResponse, redirect, stylePage, withParameters } from "./page.ts"
import { appPage, assetPage, signedInPage } from "./web-ui.ts"

const noSuchRun = messagePage(404, { title: "No such run", text: "There is no such run, or you may not open it." })

/** Only for people who may open the run; others do not learn that it exists. */
function endedRunPage({ state, reason }: RunRow): PageResponse {
  const text = reason ? `${reason.msg}.` : "It is not running any more."
  return messagePage(404, { title: state === "failed" ? "This run failed" : "This run is over", text })
}

const title = "No address for browsers is free"
const withToken = "Programs can still reach the run with a token."

/** A port stays with its first owner, so no port may be left. */
const noPortPages = {
  person: messagePage(503, {
    title,
    text: `Here each run needs a port of its own, and the person who started this one has as many ports as one person may have. Stop another run, or ask an administrator to raise QUAYSIDE_APPS_PORTS_PER_PERSON. ${withToken}`,
  }),
  range: messagePage(503, {
    title,
    text: `Here each run needs a port of its own, a port stays with its first owner for ever, and none is left. Ask an administrator to enlarge QUAYSIDE_APPS_PORTS. ${withToken}`,
  }),
  blocked: messagePage(503, {
    title,
    text: `Here each run needs a port of its own, and other programs listen on the ports that are left. Try again in ten seconds, or ask an administrator to keep QUAYSIDE_APPS_PORTS free of other services. ${withToken}`,
  }),
}

/**
 * Redirects a signed-in browser to a run's own origin. With a nonce of that origin, the redirect
 * carries a one-time ticket; without one, it leads to the page that makes the nonce.
 */
const openRun = forSignedIn(async (services, request, caller) => {
  const { gateway, runs } = services
  const id = Number(request.query.get("ID") ?? Number.NaN)
  const run = await services.store.runs.get(Number.isSafeInteger(id) ? id : 0)
  const allowed = await canOpen(services, caller, run)
  if (run && !allowed) services.events.requestRefused({ ...request.actor, userName: caller.userName }, "openRun", { code: "hidden" })
  if (!run || !allowed) return noSuchRun
  const target = runs.target(id)
  if (!target) return endedRunPage(run)
  const refusal = await gateway.ensureOrigin(target)
  if (refusal) return noPortPages[refusal]
  const nonce = request.query.get("nonce")
  const path = request.query.get("path") ?? undefined
  if (nonce === null) return redirect(gateway.openUrl(target, path))
  const visitor = { userId: caller.userId, credentialId: caller.credential.id }
  return redirect(gateway.tickets.issue({ visitor, target, nonce, path }))
})

/**
 * Reads project and grants even if there is no run, so that a hidden run takes the same queries,
 * and the same time, as a missing one.
 */
async function canOpen({ store }: Services, caller: Caller, run: RunRow | undefined): Promise<boolean> {
  const project = await store.projects.part(run?.projectId ?? 0)
  return isAllowed(store, caller, "run:open", run && runResource(run, project?.userId))
}

/** The pages for browsers at the base URL, beside the API. */
export const pageHandlers: Readonly<Record<string, PageHandler>> = {
  "/": async () => redirect("/ui/"),
  "/open": withParameters(["ID", "nonce", "path"], openRun),
  "/ui/": signedInPage,
  "/ui/sign-in": appPage,
  "/ui/assets/": assetPage,
  "/ui/style.css": stylePage,
  "/ui/icon.svg": iconPage,
  ...openIdPages,
}

/** These pages also answer every path below their own; the longest comes first. */
export const pagePrefixes = ["/ui/assets/", "/ui/"] as const
