import {
  AuthenticationFailure,
  changedMemberships,
  changeMembership,
  createsAccount,
  impersonate,
  type Membership,
  openIdSignInMs,
  type ProvisionedAccount,
  provisionAccount,
  sessionLifetimeMs,
} from "#access"
import { bounds, Failure } from "#contract"
import type { Actor } from "#events"
import { PersonLimiter } from "#http"
import { networkOf, Semaphore } from "#kit"
import { publishGroupChange, withNewHome } from "#projects"
import type { Change, UserRow } from "#store"
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
    const urgent = services.identity.sessions.tryUseReserve(JSON.stringify([person.issuer, person.subject]))
    const enter = () => signIn(services, { person, request }, urgent)
    // Before the change: all others would wait for the file server.
    const isNew = await createsAccount(services.store, person, requireOpenId(services).rules)
    const secret = await (isNew ? withNewHome(services, person.userName, enter) : enter())
    return redirect(next, [sessionCookie(secret, { secure: services.settings.secureCookies, maxAgeSeconds: sessionLifetimeMs / 1000 })])
  })
  return { ...answer, cookies: [...(answer.cookies ?? []), stateCookie(services, undefined)] }
}

function stateCookie({ settings }: Services, value: string | undefined): string {
  return cookieHeader(cookieName, value, { secure: settings.secureCookies, maxAgeSeconds: openIdSignInMs / 1000 })
}

type OpenIdPerson = Awaited<ReturnType<OpenIdSignIn["openId"]["finish"]>>["person"]

/** Groups of one transaction: everybody waits for it, and a person may be in hundreds of groups. */
const groupsPerChange = 10

interface SignIn {
  person: OpenIdPerson
  request: PageRequest
}

/**
 * Makes a session for the person whom the provider names, and returns its secret. Before that their
 * account is created or updated, and then their groups, a few in each transaction. A sign-in that
 * fails in between is completed by the next one.
 */
async function signIn(services: Services, { person, request }: SignIn, urgent: boolean): Promise<string> {
  const { identity, store } = services
  const { rules } = requireOpenId(services)
  const user = await store.change(
    async (tx) => {
      const provisioned = await provisionAccount(tx, person, { accounts: identity.accounts, rules })
      await publishAccountChange(services, tx, { provisioned, actor: actorOf(request, provisioned.user) })
      return provisioned.user
    },
    { urgent },
  )
  const memberships = await changedMemberships(store, person, { userId: user.id, patterns: rules.groups })
  for (let from = 0; from < memberships.length; from += groupsPerChange) {
    const some = memberships.slice(from, from + groupsPerChange)
    await store.change((tx) => changeMemberships(services, tx, { user, memberships: some, actor: actorOf(request, user) }), { urgent })
  }
  return store.change((tx) => createSessionFor(services, tx, { user, request }), { urgent })
}

function actorOf({ actor }: PageRequest, { userName }: UserRow): Actor {
  return { ...actor, userName }
}

async function createSessionFor(
  services: Services,
  tx: Change,
  { user, request }: { user: UserRow; request: PageRequest },
): Promise<string> {
  const { identity, events, clock } = services
  const actor = actorOf(request, user)
  const caller = await impersonate(tx, await tx.users.get(user.id), clock.now())
  if (!caller) throw new AuthenticationFailure("forbidden", `The account with the user name ${user.userName} is disabled`)
  const { browser, session } = request
  const { secret, row } = await identity.sessions.create(tx, caller, { address: actor.address, browser }, session)
  await events.changed(tx, actor, { verb: "created", resource: { type: "session", id: row.id } })
  return secret
}

async function changeMemberships(
  services: Services,
  tx: Change,
  { user, memberships, actor }: { user: UserRow; memberships: readonly Membership[]; actor: Actor },
): Promise<void> {
  for (const membership of memberships) {
    const changed = await changeMembership(tx, user.id, membership)
    if (!changed) continue
    const { group, verb } = changed
    const after = await tx.groups.memberIds(group.id)
    const before = after.includes(user.id) ? after.filter((id) => id !== user.id) : [...after, user.id]
    await publishGroupChange(services, tx, { actor }, { verb, row: group, before, after })
  }
}

async function publishAccountChange(
  services: Services,
  tx: Change,
  { provisioned, actor }: { provisioned: ProvisionedAccount; actor: Actor },
) {
  const { events } = services
  const { user, account, isChanged } = provisioned
  const resource = { type: "user", id: user.id } as const
  if (account === "created") {
    await events.changed(tx, actor, { verb: "created", resource })
  } else if (account === "linked" || isChanged) {
    await events.changed(tx, actor, { verb: "updated", resource })
    // Only the administrator flag of a known account changes here; groups follow below.
    if (isChanged) await events.everythingChanged(tx, [user.id])
  }
}

/** Strangers come back with any number of made-up codes: the log has the cause of few refusals. */
const logCauseEveryMs = 10_000
const causeLoggedAt = new WeakMap<Services["logger"], number>()

function logCause({ logger, clock }: Services, err: unknown, { requestId }: Actor): void {
  const now = clock.monotonic()
  if (now - (causeLoggedAt.get(logger) ?? Number.NEGATIVE_INFINITY) < logCauseEveryMs) return
  causeLoggedAt.set(logger, now)
  logger.warn({ err, requestId }, "a sign-in by the OpenID provider failed")
}

/** Turns a refusal into a page with a link to the sign-in, and records it for the audit. */
async function refusalAsPage(services: Services, request: PageRequest, render: () => Promise<PageResponse>): Promise<PageResponse> {
  try {
    return await render()
  } catch (error) {
    if (!(error instanceof AuthenticationFailure)) throw error
    services.events.requestRefused(request.actor, "oidc", { code: error.code })
    if (error.cause !== undefined) logCause(services, error.cause, request.actor)
    const page = messagePage(error.status, { title: "Not signed in", text: error.message, link: { href: "/ui/sign-in", text: "Sign in" } })
    return { ...page, headers: { ...page.headers, ...error.headers }, failure: error }
  }
}

export const openIdPages: Readonly<Record<string, PageHandler>> = {
  "/oidc/login": withParameters(["next"], login),
  "/oidc/callback": callback,
}
