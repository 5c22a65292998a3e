import { type Caller, Refusal, sessionMs } from "#access"
import { complete, noLimits, parseBody, sessionFields, type Whoami } from "#contract"
import type { Context, Handlers, Services } from "../context.ts"
import { sessionCookie } from "../http/session-cookie.ts"

/** The lowest of the person's own limits and those of their groups. */
async function whoami(services: Services, caller: Caller): Promise<Whoami> {
  const user = await services.store.users.get(caller.userId)
  const groups = await services.store.groups.ofUser(caller.userId)
  const limits = { ...noLimits }
  for (const name of Object.keys(limits) as (keyof typeof limits)[]) {
    const set = [user?.limits[name], ...groups.map((group) => group.limits[name])].filter((limit) => limit !== null && limit !== undefined)
    limits[name] = set.length === 0 ? null : Math.min(...set)
  }
  return { UserName: caller.userName, IsAdmin: caller.isAdmin, Groups: [...caller.groupNames].sort(), Limits: limits }
}

async function createSession(services: Services, context: Context<"createSession">) {
  const given = complete(sessionFields, parseBody(sessionFields, context.body))
  const caller = await services.identity.checkPassword(given.UserName, given.Password, context.actor.address)
  if (caller instanceof Refusal) throw caller
  const { secret } = await services.store.change(async (tx) => {
    const made = await services.identity.sessions.create(tx, caller, context.session)
    await services.events.session(tx, { ...context.actor, userName: caller.userName }, "created")
    return made
  })
  context.setHeader("set-cookie", sessionCookie(secret, { secure: services.settings.secureCookies, maxAgeSeconds: sessionMs / 1000 }))
  return whoami(services, caller)
}

/** Ending a session needs no proof beyond the session itself; without one there is nothing to end. */
async function deleteSession(services: Services, context: Context<"deleteSession">) {
  const { session } = context
  if (session !== undefined) {
    await services.store.change(async (tx) => {
      await services.identity.sessions.end(tx, session)
      await services.events.session(tx, context.actor, "deleted")
    })
  }
  context.setHeader("set-cookie", sessionCookie(undefined, { secure: services.settings.secureCookies, maxAgeSeconds: 0 }))
  return { ok: true }
}

export const sessionHandlers = {
  whoami: (services, context) => whoami(services, context.caller),
  createSession,
  deleteSession,
} satisfies Partial<Handlers>
