import { type Caller, type NewToken, tokenResource } from "#access"
import { Failure, type Token } from "#contract"
import type { Change, TokenRow } from "#store"
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
  const { row, token } = await context.services.store.change((tx) => makeToken(tx, context, context.caller, toNewToken(context.body)))
  return toNewTokenResponse(context, row, token)
}

type TokenContext = OperationContext<"createToken"> | OperationContext<"exchangeTokenCode">

/** Part of a change. The person is not always the request's caller, who may be nobody. */
async function makeToken(tx: Change, { server, services, actor }: TokenContext, caller: Caller, wanted: NewToken) {
  await server.objectLimits.checkRoom(tx, caller, caller.userId)
  const made = await services.identity.tokens.create(tx, caller, wanted)
  const person = { ...actor, userName: caller.userName }
  await services.events.changed(tx, person, { verb: "created", resource: { type: "token", id: made.row.id } })
  return made
}

function toNewToken({ Name, ExpiresAt, Scopes }: { Name: string; ExpiresAt: string | null; Scopes: string[] }): Required<NewToken> {
  return { name: Name, expiresAt: ExpiresAt === null ? null : Date.parse(ExpiresAt), scopes: Scopes }
}

function toNewTokenResponse(context: TokenContext, row: TokenRow, token: string) {
  context.setHeader("etag", etagOf(toVersionedRow(row.id)))
  return { ...toTokenResponse(row), Token: token }
}

async function createTokenCode(context: OperationContext<"createTokenCode">): Promise<HandlerResult<"createTokenCode">> {
  const { services, caller, body } = context
  const wanted = { ...toNewToken(body), challenge: body.CodeChallenge }
  const { code, expiresAt } = await services.store.change((tx) => services.identity.tokenCodes.create(tx, caller, wanted))
  return { Code: code, ExpiresAt: toTimestamp(expiresAt) }
}

/** The code authorizes: the request carries no other credential. */
async function exchangeTokenCode(context: OperationContext<"exchangeTokenCode">): Promise<HandlerResult<"exchangeTokenCode">> {
  const { store, identity } = context.services
  const { Code, CodeVerifier } = context.body
  const isWaiting = await identity.tokenCodes.isWaiting(store, Code)
  // A code that is refused stays used, so the refusal follows the change.
  const made = isWaiting && (await store.change((tx) => exchange(tx, context, { code: Code, verifier: CodeVerifier })))
  if (!made)
    throw new Failure("invalid", "Code must be one that was made within the last minute for this verifier, and that nobody used", {
      field: "Code",
    })
  return toNewTokenResponse(context, made.row, made.token)
}

async function exchange(
  tx: Change,
  context: OperationContext<"exchangeTokenCode">,
  { code, verifier }: { code: string; verifier: string },
): Promise<{ row: TokenRow; token: string } | undefined> {
  const allowed = await context.services.identity.tokenCodes.use(tx, code, verifier)
  return allowed && makeToken(tx, context, allowed.caller, allowed.wanted)
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

export const tokenHandlers = { createToken, createTokenCode, exchangeTokenCode, listTokens, deleteToken } satisfies Partial<Handlers>
