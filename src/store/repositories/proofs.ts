import type { Value } from "../driver.ts"
import { Duplicate } from "../errors.ts"
import { query } from "../queries/query.ts"
import type { Page, PageRequest, SessionRow, TokenRow } from "../rows.ts"
import type { SessionReads, SessionWrites, TokenReads, TokenWrites } from "../store.ts"
import type { Context } from "./resource.ts"

const q = {
  token: query("get", "tokens"),
  tokenByHash: query("tokenByHash"),
  tokenPage: query("tokenPage"),
  tokenTotal: query("tokenTotal"),
  insertToken: query("insertToken"),
  deleteToken: query("deleteToken"),
  tokenUsed: query("tokenUsed"),
  deleteTokensOfUser: query("deleteTokensOfUser"),
  sessionByHash: query("sessionByHash"),
  insertSession: query("insertSession"),
  deleteSession: query("deleteSession"),
  deleteSessionsOfUser: query("deleteSessionsOfUser"),
  deleteOld: query("deleteOldSessions"),
  deleteExpired: query("deleteExpiredSessions"),
}

export class Tokens implements TokenReads, TokenWrites {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async get(id: number): Promise<TokenRow | undefined> {
    if (!Number.isSafeInteger(id)) return undefined
    const values = await this.#context.session.first(q.token, { id })
    return values && toToken(values)
  }

  async byHash(hash: string): Promise<TokenRow | undefined> {
    const values = await this.#context.session.first(q.tokenByHash, { hash })
    return values && toToken(values)
  }

  async list(userId: number, { page, pageSize }: PageRequest): Promise<Page<TokenRow>> {
    const { session } = this.#context
    const [total] = (await session.first(q.tokenTotal, { user_id: userId })) as [number]
    const values = await session.all(q.tokenPage, { user_id: userId, limit: pageSize, offset: (page - 1) * pageSize })
    return { rows: values.map(toToken), total }
  }

  async insert(row: Omit<TokenRow, "id" | "createdAt" | "lastUsedAt">): Promise<TokenRow> {
    const { session, clock } = this.#context
    const values = await session.first(q.insertToken, {
      user_id: row.userId,
      name: row.name,
      hash: row.hash,
      created_at: clock.now(),
      expires_at: row.expiresAt,
      scopes: JSON.stringify(row.scopes),
    })
    if (values) return toToken(values)
    throw new Duplicate("tokenHash")
  }

  async delete(id: number): Promise<boolean> {
    return (await this.#context.session.run(q.deleteToken, { id })) > 0
  }

  async used(id: number, at: number): Promise<void> {
    await this.#context.session.run(q.tokenUsed, { id, at })
  }

  async deleteOfUser(userId: number): Promise<void> {
    await this.#context.session.run(q.deleteTokensOfUser, { user_id: userId })
  }
}

export class Sessions implements SessionReads, SessionWrites {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async byHash(hash: string): Promise<SessionRow | undefined> {
    const values = await this.#context.session.first(q.sessionByHash, { hash })
    return values && toSession(values)
  }

  async insert(row: Omit<SessionRow, "createdAt">): Promise<SessionRow> {
    const { session, clock } = this.#context
    const columns = { hash: row.hash, user_id: row.userId, created_at: clock.now(), expires_at: row.expiresAt }
    const values = await session.first(q.insertSession, columns)
    if (values) return toSession(values)
    throw new Duplicate("sessionHash")
  }

  async delete(hash: string): Promise<void> {
    await this.#context.session.run(q.deleteSession, { hash })
  }

  async deleteOfUser(userId: number, exceptHash = ""): Promise<void> {
    await this.#context.session.run(q.deleteSessionsOfUser, { user_id: userId, except: exceptHash })
  }

  deleteOld(userId: number, most: number): Promise<number> {
    return this.#context.session.run(q.deleteOld, { user_id: userId, most })
  }

  deleteExpired(now: number): Promise<number> {
    return this.#context.session.run(q.deleteExpired, { now })
  }
}

function toToken(v: readonly Value[]): TokenRow {
  return {
    id: v[0] as number,
    userId: v[1] as number,
    name: v[2] as string,
    hash: v[3] as string,
    createdAt: v[4] as number,
    expiresAt: v[5] as number | null,
    lastUsedAt: v[6] as number | null,
    scopes: JSON.parse(v[7] as string) as string[],
  }
}

function toSession(v: readonly Value[]): SessionRow {
  return { hash: v[0] as string, userId: v[1] as number, createdAt: v[2] as number, expiresAt: v[3] as number }
}
