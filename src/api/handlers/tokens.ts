import { tokenResource } from "#access"
import { parseNew, type Token, tokenFields } from "#contract"
import type { TokenRow } from "#store"
import type { Context, Handlers, Services } from "../context.ts"
import { checkMatch, etagOf } from "../http/etag.ts"
import { iso, listAnswer, pageOf } from "./lists.ts"
import { needId } from "./resource.ts"

function tokenAnswer(row: TokenRow): Token {
  return {
    ID: row.id,
    Name: row.name,
    CreatedAt: iso(row.createdAt),
    ExpiresAt: iso(row.expiresAt),
    LastUsedAt: iso(row.lastUsedAt),
    Scopes: row.scopes,
  }
}

/** A token never changes. */
const tagged = (id: number) => ({ id, version: 1, updatedAt: 0 })

async function createToken(services: Services, context: Context<"createToken">) {
  const values = parseNew(tokenFields, context.body)
  const expiresAt = values.ExpiresAt === null ? null : Date.parse(values.ExpiresAt)
  const { row, token } = await services.store.change(async (tx) => {
    await context.server.objectLimits.checkRoom(tx, context.caller, context.caller.userId)
    const made = await services.identity.tokens.create(tx, context.caller, { name: values.Name, expiresAt, scopes: values.Scopes })
    await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "token", id: made.row.id } })
    return made
  })
  context.setHeader("etag", etagOf(tagged(row.id)))
  return { ...tokenAnswer(row), Token: token }
}

async function listTokens(services: Services, context: Context<"listTokens">) {
  const page = pageOf(context.query)
  const found = await services.store.tokens.list(context.caller.userId, page)
  return listAnswer(found, page, found.rows.map(tokenAnswer))
}

async function deleteToken(services: Services, context: Context<"deleteToken">) {
  const id = needId(context as Context)
  await services.store.change(async (tx) => {
    const was = tokenResource(await services.identity.tokens.delete(tx, context.caller, id))
    checkMatch(context.header("if-match"), tagged(id))
    const resource = { type: "token", id } as const
    await services.events.changed(tx, context.actor, { verb: "deleted", resource, was, people: [context.caller.userId] })
  })
  return { ok: true }
}

export const tokenHandlers = { createToken, listTokens, deleteToken } satisfies Partial<Handlers>
