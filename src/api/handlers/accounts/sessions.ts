import {
  type Action,
  AuthenticationFailure,
  authorize,
  type Caller,
  type Credential,
  can,
  forbidden,
  notFound,
  sessionHashOf,
  sessionLifetimeMs,
  sessionResource,
} from "#access"
import { Failure, type Session } from "#contract"
import type { SessionRow } from "#store"
import type { HandlerContext, HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { sessionCookie } from "../../http/session-cookie.ts"
import { laneOf } from "../../lane.ts"
import { toListResponse, toPageRequest, toTimestamp } from "../../responses/lists.ts"
import { toWhoami } from "../../responses/whoami.ts"
import { withFairChanges } from "../../with-change.ts"

function toSessionResponse(row: SessionRow, caller: Caller): Session {
  return {
    ID: row.id,
    UserName: row.userName,
    CreatedAt: toTimestamp(row.createdAt),
    LastUsedAt: toTimestamp(row.lastUsedAt),
    ExpiresAt: toTimestamp(row.expiresAt),
    Address: row.address,
    Browser: row.browser,
    IsCurrent: row.hash === sessionHashOf(caller.credential),
  }
}

async function createSession(context: OperationContext<"createSession">): Promise<HandlerResult<"createSession">> {
  const { services, actor, body } = context
  const { identity, events, settings } = services
  const caller = await identity.checkPassword(body.UserName, body.Password, actor.address)
  if (caller instanceof AuthenticationFailure) throw caller
  const { store } = servicesOf("createSession", caller, context)
  const device = { address: actor.address, browser: context.header("user-agent") }
  const { secret } = await store.change(
    async (tx) => {
      const made = await identity.sessions.create(tx, caller, device, context.session)
      const resource = { type: "session", id: made.row.id } as const
      await events.changed(tx, { ...actor, userName: caller.userName }, { verb: "created", resource })
      return made
    },
    { urgent: identity.sessions.tryUseReserve(String(caller.userId)) },
  )
  context.setHeader("set-cookie", sessionCookie(secret, { secure: settings.secureCookies, maxAgeSeconds: sessionLifetimeMs / 1000 }))
  return toWhoami(services, caller)
}

/**
 * The services for a change of a person who has just proved who they are. Each call counts as a
 * write: without that, one person's sign-ins would stand before everybody's changes.
 */
function servicesOf(
  operation: "createSession" | "deleteSession",
  caller: Caller,
  { services, server }: Pick<HandlerContext, "services" | "server">,
): Services {
  if (caller.isAdmin) return services
  const lane = laneOf(operation, caller)
  server.rateLimiter.consume(lane, "writes")
  // Their rights may have changed while the password was checked.
  return withFairChanges(services, { caller: { ...caller }, lane, invalidations: 0, changes: server.changes })
}

/** No ID of a person. */
const nobody = 0

async function listSessions({ services, caller, query }: OperationContext<"listSessions">): Promise<HandlerResult<"listSessions">> {
  const page = toPageRequest(query)
  const everybody = query.UserName === undefined && caller.isAdmin
  const userId = everybody ? undefined : ((await idOfPerson({ services, caller }, query.UserName)) ?? nobody)
  const found = await services.store.sessions.list(userId, page)
  return toListResponse(
    found,
    page,
    found.rows.map((row) => toSessionResponse(row, caller)),
  )
}

/** The caller's own by default. Undefined for other people if the caller is no administrator. */
async function idOfPerson(
  { services, caller }: Pick<OperationContext<"listSessions">, "services" | "caller">,
  userName: string | undefined,
): Promise<number | undefined> {
  if (userName === undefined || userName === caller.userName) return caller.userId
  return caller.isAdmin ? (await services.store.users.byName(userName))?.id : undefined
}

/**
 * Without parameters it needs no credential but the session itself; without one, nothing ends.
 */
async function deleteSession(context: OperationContext<"deleteSession">): Promise<HandlerResult<"deleteSession">> {
  const { services, query } = context
  const isOwn = await endSessions(context, query)
  if (isOwn) context.setHeader("set-cookie", sessionCookie(undefined, { secure: services.settings.secureCookies, maxAgeSeconds: 0 }))
  return { ok: true }
}

type DeleteContext = OperationContext<"deleteSession">

/** Whether the browser's own session is among those that ended. */
async function endSessions(context: DeleteContext, { ID, Others, All, UserName }: DeleteContext["query"]): Promise<boolean> {
  if ([ID !== undefined, Others, All].filter(Boolean).length > 1)
    throw new Failure("invalid", "Only one of ID, Others=1 and All=1 may be sent", { field: "ID" })
  if (UserName !== undefined && !All) throw new Failure("invalid", "UserName needs All=1", { field: "UserName" })
  if (ID !== undefined) return endOne(context, ID)
  if (All) return endAll(context, UserName)
  return Others ? endOthers(context) : signOut(context)
}

async function signOut({ services, actor, session }: DeleteContext): Promise<boolean> {
  const { store, identity, events } = services
  // Anybody can make up a secret, so an unknown one is not recorded, and makes no change.
  if (session !== undefined && (await identity.sessions.exists(store, session)))
    await store.change(async (tx) => {
      const row = await identity.sessions.endBySecret(tx, session)
      if (row) await events.changed(tx, { ...actor, userName: row.userName }, deletionOf(row))
    })
  return true
}

async function endOne(context: DeleteContext, id: number): Promise<boolean> {
  const caller = await authenticate(context)
  const { store, identity, events } = servicesOf("deleteSession", caller, context)
  return store.change(async (tx) => {
    const row = await tx.sessions.get(id)
    authorize(caller, action, { resource: row && sessionResource(row), what: "session" })
    const session = row as SessionRow
    await identity.sessions.end(tx, session)
    await events.changed(tx, { ...context.actor, userName: caller.userName }, deletionOf(session))
    return session.hash === sessionHashOf(caller.credential)
  })
}

async function endAll(context: DeleteContext, userName: string | undefined): Promise<boolean> {
  const caller = await authenticate(context)
  const userId = await idOfPerson({ services: context.services, caller }, userName)
  if (userId === undefined)
    throw caller.isAdmin ? notFound("account") : forbidden(caller, action, { words: "with other people's sessions " })
  await endSessionsOf(context, { caller, userId })
  return userId === caller.userId
}

async function endOthers(context: DeleteContext): Promise<false> {
  const caller = await authenticate(context)
  await endSessionsOf(context, { caller, userId: caller.userId, except: caller.credential })
  return false
}

async function endSessionsOf(
  context: DeleteContext,
  { caller, userId, except }: { caller: Caller; userId: number; except?: Credential },
): Promise<void> {
  const { store, identity, events } = servicesOf("deleteSession", caller, context)
  await store.change(async (tx) => {
    const ids = await identity.sessions.endAll(tx, userId, except)
    const sessions = ids.map((id) => ({ ref: { type: "session", id } as const, was: sessionResource({ id, userId }) }))
    await events.sessionsEnded(tx, { ...context.actor, userName: caller.userName }, { userId, sessions })
  })
}

const action: Action = "session:delete"

/** The caller by any credential that may write. */
async function authenticate(context: DeleteContext): Promise<Caller> {
  const { services, actor, session } = context
  const caller = await services.identity.authenticate(context.header("authorization"), session, actor.address)
  if (caller instanceof AuthenticationFailure) throw caller
  if (can(caller, action) !== "yes") throw forbidden(caller, action, { words: "" })
  return caller
}

function deletionOf(row: SessionRow) {
  return { verb: "deleted", resource: { type: "session", id: row.id }, was: sessionResource(row), people: [row.userId] } as const
}

function createFilesToken({ services, caller }: OperationContext<"createFilesToken">): HandlerResult<"createFilesToken"> {
  const { token, expiresAt } = services.identity.createFilesToken(caller)
  return { Token: token, ExpiresAt: toTimestamp(expiresAt) }
}

export const sessionHandlers = {
  createFilesToken,
  whoami: ({ services, caller }) => toWhoami(services, caller),
  createSession,
  listSessions,
  deleteSession,
} satisfies Partial<Handlers>
