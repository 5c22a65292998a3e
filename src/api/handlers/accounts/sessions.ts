import { AuthenticationFailure, can, forbidden, sessionLifetimeMs } from "#access"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { sessionCookie } from "../../http/session-cookie.ts"
import { toTimestamp } from "../../responses/lists.ts"
import { toWhoami } from "../../responses/whoami.ts"

async function createSession(context: OperationContext<"createSession">): Promise<HandlerResult<"createSession">> {
  const { services } = context
  const given = context.body
  const caller = await services.identity.checkPassword(given.UserName, given.Password, context.actor.address)
  if (caller instanceof AuthenticationFailure) throw caller
  const { secret } = await services.store.change(
    async (tx) => {
      const made = await services.identity.sessions.create(tx, caller, context.session)
      await services.events.sessionChanged(tx, { ...context.actor, userName: caller.userName }, "created")
      return made
    },
    { urgent: services.identity.sessions.tryUseReserve(String(caller.userId)) },
  )
  context.setHeader(
    "set-cookie",
    sessionCookie(secret, { secure: services.settings.secureCookies, maxAgeSeconds: sessionLifetimeMs / 1000 }),
  )
  return toWhoami(services, caller)
}

/**
 * Ending a session needs no credential but the session itself; without one, nothing ends.
 */
async function deleteSession(context: OperationContext<"deleteSession">): Promise<HandlerResult<"deleteSession">> {
  const { services } = context
  if (context.query.All) await endAllSessions(context)
  else if (context.session !== undefined) await endSession(context, context.session)
  context.setHeader("set-cookie", sessionCookie(undefined, { secure: services.settings.secureCookies, maxAgeSeconds: 0 }))
  return { ok: true }
}

async function endSession({ services, actor }: OperationContext<"deleteSession">, session: string): Promise<void> {
  const { identity, store, events } = services
  const caller = await identity.authenticate(undefined, session, actor.address)
  const userName = caller instanceof AuthenticationFailure ? actor.userName : caller.userName
  await store.change(async (tx) => {
    // Anybody can make up a secret, so an unknown one is not recorded.
    if (!(await identity.sessions.end(tx, session))) return
    await events.sessionChanged(tx, { ...actor, userName }, "deleted")
  })
}

/** Ends all sessions of the person whose credential the request carries. */
async function endAllSessions(context: OperationContext<"deleteSession">): Promise<void> {
  const { identity, store, events } = context.services
  const { actor } = context
  const caller = await identity.authenticate(context.header("authorization"), context.session, actor.address)
  if (caller instanceof AuthenticationFailure) throw caller
  if (can(caller, "session:delete") !== "yes") throw forbidden(caller, "session:delete", { words: "" })
  await store.change(async (tx) => {
    await identity.sessions.endAll(tx, caller.userId)
    await events.sessionChanged(tx, { ...actor, userName: caller.userName }, "deleted")
  })
}

function createFilesToken({ services, caller }: OperationContext<"createFilesToken">): HandlerResult<"createFilesToken"> {
  const { token, expiresAt } = services.identity.createFilesToken(caller)
  return { Token: token, ExpiresAt: toTimestamp(expiresAt) }
}

export const sessionHandlers = {
  createFilesToken,
  whoami: ({ services, caller }) => toWhoami(services, caller),
  createSession,
  deleteSession,
} satisfies Partial<Handlers>
