import {
  AuthenticationFailure,
  createsAccount,
  homePath,
  impersonate,
  openIdSignInMs,
  type ProvisionedAccount,
  provisionAccount,
  sessionLifetimeMs,
} from "#access"
import { bounds, Failure } from "#contract"
import type { Actor } from "#events"
import { PersonLimiter } from "#http"
import { networkOf, Semaphore } from "#kit"
import { publishGroupChange } from "#projects"
import type { Change } from "#store"
import type { OpenIdSignIn, Services } from "../context.ts"
import { cookieHeader, sessionCookie } from "../http/session-cookie.ts"
import { messagePage, type PageHandler, type PageRequest, type PageResponse, redirect, withParameters } from "./page.ts"

/** The cookie binds a sign-in to the browser that started it. */
const cookieName = "quayside_oidc"

/** Anybody may begin a sign-in, and return with any code. */
const callbacks = new PersonLimiter<string>({
  maxRunning: bounds.accounts.openIdCallbacks.value,
  maxWaiting: bounds.accounts.waitingOpenIdCallbacks.value,
  message: (count) => `${count} sign-ins from this address are being checked; try again in 5 s`,
})
const allCallbacks = new Semaphore(bounds.accounts.allOpenIdCallbacks.value)

function requireOpenId({ openId }: Services): OpenIdSignIn {
  if (!openId) throw new Failure("not_found", "No OpenID provider is configured here: sign in with user name and password")
  return openId
}

const login: PageHandler = async (services, request) => {
  const { openId } = requireOpenId(services)
  return refusalAsPage(services, request, async () => {
    const { location, cookie } = await openId.begin(request.query.get("next") ?? undefined)
    return redirect(location, [stateCookie(services, cookie)])
  })
}

const callback: PageHandler = async (services, request) => {
  const { openId } = requireOpenId(services)
  const answer = await refusalAsPage(services, request, async () => {
    const finish = () => openId.finish(request.queryText, request.cookie(cookieName))
    const { person, next } = await callbacks.run(networkOf(request.actor.address), () => allCallbacks.run(finish))
    await ensureHome(services, person)
    const urgent = services.identity.sessions.tryUseReserve(JSON.stringify([person.issuer, person.subject]))
    const secret = await services.store.change((tx) => createSessionFor(services, tx, { person, request }), { urgent })
    return redirect(next, [sessionCookie(secret, { secure: services.settings.secureCookies, maxAgeSeconds: sessionLifetimeMs / 1000 })])
  })
  return { ...answer, cookies: [...(answer.cookies ?? []), stateCookie(services, undefined)] }
}

function stateCookie({ settings }: Services, value: string | undefined): string {
  return cookieHeader(cookieName, value, { secure: settings.secureCookies, maxAgeSeconds: openIdSignInMs / 1000 })
}

type OpenIdPerson = Awaited<ReturnType<OpenIdSignIn["openId"]["finish"]>>["person"]

/** Makes a new person's home before the change: all others would wait for the file server. */
async function ensureHome(services: Services, person: OpenIdPerson): Promise<void> {
  const { rules } = requireOpenId(services)
  if (await createsAccount(services.store, person, rules)) await services.tree.ensureDirectory(homePath(person.userName))
}

/**
 * Makes a session for the person whom the provider names, and returns its secret. Their account is
 * created or updated in the same transaction.
 */
async function createSessionFor(services: Services, tx: Change, signIn: { person: OpenIdPerson; request: PageRequest }): Promise<string> {
  const { identity, events, clock } = services
  const { rules } = requireOpenId(services)
  const provisioned = await provisionAccount(tx, signIn.person, { accounts: identity.accounts, rules })
  const { user } = provisioned
  const actor = { ...signIn.request.actor, userName: user.userName }
  await publishAccountChanges(services, tx, { provisioned, actor })
  const caller = await impersonate(tx, user, clock.now())
  if (!caller) throw new AuthenticationFailure("forbidden", `The account with the user name ${user.userName} is disabled`)
  const { browser, session } = signIn.request
  const { secret, row } = await identity.sessions.create(tx, caller, { address: actor.address, browser }, session)
  await events.changed(tx, actor, { verb: "created", resource: { type: "session", id: row.id } })
  return secret
}

/** Publishes all changes of accounts and groups. */
async function publishAccountChanges(
  services: Services,
  tx: Change,
  { provisioned, actor }: { provisioned: ProvisionedAccount; actor: Actor },
) {
  const { events } = services
  const { user, account, isChanged, groups } = provisioned
  const resource = { type: "user", id: user.id } as const
  if (account === "created") {
    await events.changed(tx, actor, { verb: "created", resource })
  } else if (account === "linked" || isChanged) {
    await events.changed(tx, actor, { verb: "updated", resource })
    // Only the administrator flag of a known account changes here; groups follow below.
    if (isChanged) await events.everythingChanged(tx, [user.id])
  }
  for (const { group, verb } of groups) {
    const after = await tx.groups.memberIds(group.id)
    const before = after.includes(user.id) ? after.filter((id) => id !== user.id) : [...after, user.id]
    await publishGroupChange(services, tx, { actor }, { verb, row: group, before, after })
  }
}

/** Turns a refusal into a page with a link to the sign-in, and records it for the audit. */
async function refusalAsPage(services: Services, request: PageRequest, render: () => Promise<PageResponse>): Promise<PageResponse> {
  try {
    return await render()
  } catch (error) {
    if (!(error instanceof AuthenticationFailure)) throw error
    services.events.requestRefused(request.actor, "oidc", { code: error.code })
    if (error.cause !== undefined) {
      services.logger.warn({ err: error.cause, requestId: request.actor.requestId }, "a sign-in by the OpenID provider failed")
    }
    const page = messagePage(error.status, { title: "Not signed in", text: error.message, link: { href: "/ui/sign-in", text: "Sign in" } })
    return { ...page, headers: { ...page.headers, ...error.headers }, failure: error }
  }
}

export const openIdPages: Readonly<Record<string, PageHandler>> = {
  "/oidc/login": withParameters(["next"], login),
  "/oidc/callback": callback,
}
