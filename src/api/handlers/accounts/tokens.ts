import { tokenResource } from "#access"
import type { Token } from "#contract"
import type { TokenRow } from "#store"
import type { HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { toListResponse, toPageRequest, toTimestamp } from "../../responses/lists.ts"
import { requireId } from "../resources/owned-resource.ts"

function toTokenResponse(row: TokenRow): Token {
  return {
    ID: row.id,
    Name: row.name,
    CreatedAt: toTimestamp(row.createdAt),
    ExpiresAt: toTimestamp(row.expiresAt),
    LastUsedAt: toTimestamp(row.lastUsedAt),
    Scopes: row.scopes,
  }
}

/** A token never changes, so its version is always 1. */
const toVersionedRow = (id: number) => ({ id, version: 1, updatedAt: 0 })

async function createToken(context: OperationContext<"createToken">): Promise<HandlerResult<"createToken">> {
  const { services } = context
  const values = context.body
  const expiresAt = values.ExpiresAt === null ? null : Date.parse(values.ExpiresAt)
  const { row, token } = await services.store.change(async (tx) => {
    await context.server.objectLimits.checkRoom(tx, context.caller, context.caller.userId)
    const made = await services.identity.tokens.create(tx, context.caller, { name: values.Name, expiresAt, scopes: values.Scopes })
    await services.events.changed(tx, context.actor, { verb: "created", resource: { type: "token", id: made.row.id } })
    return made
  })
  context.setHeader("etag", etagOf(toVersionedRow(row.id)))
  return { ...toTokenResponse(row), Token: token }
}

async function listTokens(context: OperationContext<"listTokens">): Promise<HandlerResult<"listTokens">> {
  const { services } = context
  const page = toPageRequest(context.query)
  const found = await services.store.tokens.list(context.caller.userId, page)
  return toListResponse(found, page, found.rows.map(toTokenResponse))
}

async function deleteToken(context: OperationContext<"deleteToken">): Promise<HandlerResult<"deleteToken">> {
  const { services } = context
  const id = requireId(context)
  await services.store.change(async (tx) => {
    const was = tokenResource(await services.identity.tokens.delete(tx, context.caller, id))
    checkIfMatch(context.header("if-match"), toVersionedRow(id))
    const resource = { type: "token", id } as const
    await services.events.changed(tx, context.actor, { verb: "deleted", resource, was, people: [context.caller.userId] })
  })
  return { ok: true }
}

export const tokenHandlers = { createToken, listTokens, deleteToken } satisfies Partial<Handlers>
