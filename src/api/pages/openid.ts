import { impersonate, openIdSignInMs, type ProvisionedAccount, provisionAccount, Refusal, sessionLifetimeMs } from "#access"
import { Failure } from "#contract"
import type { Actor } from "#events"
import { memberIdsOf } from "#projects"
import type { Change } from "#store"
import type { OpenIdSignIn, Services } from "../context.ts"
import { groupChanged } from "../handlers/accounts/groups.ts"
import { handOut } from "../http/cookies.ts"
import { sessionCookie } from "../http/session-cookie.ts"
import { escapeHtml } from "./html.ts"
import { file, message, type Page, type PageAnswer, type PageRequest, redirect, withParameters } from "./page.ts"

/** Binds a sign-in to the browser that began it. */
const cookieName = "quayside_oidc"

function configured({ openId }: Services): OpenIdSignIn {
  if (!openId) throw new Failure("not_found", "No OpenID provider is configured here: sign in with user name and password")
  return openId
}

const login: Page = async (services, request) => {
  const { openId } = configured(services)
  return toldWhenRefused(services, request, async () => {
    const { location, cookie } = await openId.begin(request.query.get("next") ?? undefined)
    return redirect(location, [beginning(services, cookie)])
  })
}

const callback: Page = async (services, request) => {
  const { openId } = configured(services)
  const answer = await toldWhenRefused(services, request, async () => {
    const { person, next } = await openId.finish(request.queryText, request.cookie(cookieName))
    const urgent = services.identity.sessions.tryUseReserve(JSON.stringify([person.issuer, person.subject]))
    const secret = await services.store.change((tx) => signedIn(services, tx, { person, request }), { urgent })
    return redirect(next, [sessionCookie(secret, { secure: services.settings.secureCookies, maxAgeSeconds: sessionLifetimeMs / 1000 })])
  })
  return { ...answer, cookies: [...(answer.cookies ?? []), beginning(services, undefined)] }
}

function beginning({ settings }: Services, value: string | undefined): string {
  return handOut(cookieName, value, { secure: settings.secureCookies, maxAgeSeconds: openIdSignInMs / 1000 })
}

type Provided = Awaited<ReturnType<OpenIdSignIn["openId"]["finish"]>>["person"]

/**
 * The secret of a new session for whoever the provider says that it is; their account is made or
 * renewed in the same change.
 */
async function signedIn(services: Services, tx: Change, came: { person: Provided; request: PageRequest }): Promise<string> {
  const { identity, events, clock } = services
  const { rules } = configured(services)
  const admitted = await provisionAccount(tx, came.person, { people: identity.accounts, rules })
  const { user } = admitted
  const actor = { ...came.request.actor, userName: user.userName }
  await tell(services, tx, { admitted, actor })
  const caller = await impersonate(tx, user, clock.now())
  if (!caller) throw new Refusal("forbidden", `The account with the user name ${user.userName} is disabled`)
  const { secret } = await identity.sessions.create(tx, caller, came.request.session)
  await events.sessionChanged(tx, actor, "created")
  return secret
}

/** Makes the home of somebody new, and tells of all that changed. */
async function tell(services: Services, tx: Change, { admitted, actor }: { admitted: ProvisionedAccount; actor: Actor }) {
  const { tree, events } = services
  const { user, account, isChanged, groups } = admitted
  const resource = { type: "user", id: user.id } as const
  if (account === "created") {
    await tree.ensureDirectory(`/users/${user.userName}`)
    await events.changed(tx, actor, { verb: "created", resource })
  } else if (account === "linked" || isChanged) {
    await events.changed(tx, actor, { verb: "updated", resource })
    // Nothing of a known account changes but whether it administers; groups are told of below.
    if (isChanged) await events.everythingChanged(tx, [user.id])
  }
  for (const { group, verb } of groups) {
    const after = await memberIdsOf(tx, group.id)
    const before = after.includes(user.id) ? after.filter((id) => id !== user.id) : [...after, user.id]
    await groupChanged(services, tx, { actor }, { verb, row: group, before, after })
  }
}

/** Answers a refusal as a page that leads back to the sign-in, and keeps it for the audit. */
async function toldWhenRefused(services: Services, request: PageRequest, work: () => Promise<PageAnswer>): Promise<PageAnswer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    services.events.requestRefused(request.actor, "oidc", { code: error.code })
    if (error.cause !== undefined) {
      services.logger.warn({ err: error.cause, requestId: request.actor.requestId }, "a sign-in by the OpenID provider failed")
    }
    const page = message(error.status, { title: "Not signed in", text: error.message, link: { href: "/ui/sign-in", text: "Sign in" } })
    return { ...page, headers: { ...page.headers, ...error.headers }, failure: error }
  }
}

const plainSignIn = file("sign-in.html")

/** The sign-in page, with a way to the provider where one is configured. */
export const signIn: Page = async (services, request) => {
  const page = await plainSignIn(services, request)
  const { openId, settings } = services
  const link = openId
    ? `<a class="button" id="openid" href="${escapeHtml(settings.baseUrl)}/oidc/login">Sign in with ${escapeHtml(openId.name)}</a>`
    : ""
  return { ...page, body: page.body.toString().replace("<!-- openid -->", () => link) }
}

export const openIdPages: Readonly<Record<string, Page>> = {
  "/oidc/login": withParameters(["next"], login),
  "/oidc/callback": callback,
}
