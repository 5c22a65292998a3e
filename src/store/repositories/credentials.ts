import { DuplicateError } from "../errors.ts"
import { query } from "../queries/query.ts"
import type { RowPage, RowPageRequest, SessionRow, TokenCodeRow, TokenRow } from "../rows.ts"
import { sessionsTable, tokenCodesTable, tokensTable } from "../tables/credentials.ts"
import type { SessionReads, SessionWrites, TokenCodeReads, TokenCodeWrites, TokenReads, TokenWrites } from "./credential-types.ts"
import type { RepositoryContext } from "./resource.ts"

const q = {
  token: query("get", "tokens"),
  tokenByHash: query("tokenByHash"),
  tokenPage: query("tokenPage"),
  tokenTotal: query("tokenTotal"),
  insertToken: query("insertToken"),
  deleteToken: query("deleteToken"),
  markTokensUsed: query("markTokensUsed"),
  deleteTokensOfUser: query("deleteTokensOfUser"),
  session: query("get", "sessions"),
  sessionByHash: query("sessionByHash"),
  insertSession: query("insertSession"),
  markSessionsUsed: query("markSessionsUsed"),
  deleteSession: query("deleteSession"),
  deleteSessionsOfUser: query("deleteSessionsOfUser"),
  deleteOld: query("deleteOldSessions"),
  deleteExpired: query("deleteExpiredSessions"),
  codeByHash: query("tokenCodeByHash"),
  insertCode: query("insertTokenCode"),
  deleteCode: query("deleteTokenCode"),
  deleteOldCodes: query("deleteOldTokenCodes"),
  deleteExpiredCodes: query("deleteExpiredTokenCodes"),
}

export class TokenRepository implements TokenReads, TokenWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async get(id: number): Promise<TokenRow | undefined> {
    if (!Number.isSafeInteger(id)) return undefined
    const values = await this.#context.runner.first(q.token, { id })
    return values && tokensTable.toRow(values)
  }

  async byHash(hash: string): Promise<TokenRow | undefined> {
    const values = await this.#context.runner.first(q.tokenByHash, { hash })
    return values && tokensTable.toRow(values)
  }

  async list(userId: number, { page, pageSize }: RowPageRequest): Promise<RowPage<TokenRow>> {
    const { runner } = this.#context
    const [total] = (await runner.first(q.tokenTotal, { user_id: userId })) as [number]
    const values = await runner.all(q.tokenPage, { user_id: userId, limit: pageSize, offset: (page - 1) * pageSize })
    return { rows: values.map(tokensTable.toRow), total }
  }

  async insert(row: Omit<TokenRow, "id" | "createdAt" | "lastUsedAt">): Promise<TokenRow> {
    const { runner, clock } = this.#context
    const values = await runner.first(q.insertToken, tokensTable.toColumns({ ...row, createdAt: clock.now() }))
    if (values) return tokensTable.toRow(values)
    throw new DuplicateError("tokenHash")
  }

  async delete(id: number): Promise<boolean> {
    return (await this.#context.runner.run(q.deleteToken, { id })) > 0
  }

  async markUsed(ids: readonly number[], at: number): Promise<void> {
    if (ids.length > 0) await this.#context.runner.run(q.markTokensUsed, { ids, at })
  }

  async deleteOfUser(userId: number): Promise<void> {
    await this.#context.runner.run(q.deleteTokensOfUser, { user_id: userId })
  }
}

export class SessionRepository implements SessionReads, SessionWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async get(id: number): Promise<SessionRow | undefined> {
    if (!Number.isSafeInteger(id)) return undefined
    const values = await this.#context.runner.first(q.session, { id })
    return values && sessionsTable.toRow(values)
  }

  async list(userId: number | undefined, { page, pageSize }: RowPageRequest): Promise<RowPage<SessionRow>> {
    const { runner, clock } = this.#context
    const of = userId === undefined ? "everybody" : "user"
    const args = { now: clock.now(), ...(userId === undefined ? {} : { user_id: userId }) }
    const [total] = (await runner.first(query("sessionTotal", of), args)) as [number]
    const values = await runner.all(query("sessionPage", of), { ...args, limit: pageSize, offset: (page - 1) * pageSize })
    return { rows: values.map(sessionsTable.toRow), total }
  }

  async byHash(hash: string): Promise<SessionRow | undefined> {
    const values = await this.#context.runner.first(q.sessionByHash, { hash })
    return values && sessionsTable.toRow(values)
  }

  async insert(row: Parameters<SessionWrites["insert"]>[0]): Promise<SessionRow> {
    const { runner, clock } = this.#context
    const values = await runner.first(q.insertSession, sessionsTable.toColumns({ ...row, createdAt: clock.now() }))
    if (values) return sessionsTable.toRow(values)
    throw new DuplicateError("sessionHash")
  }

  async delete(hash: string): Promise<void> {
    await this.#context.runner.run(q.deleteSession, { hash })
  }

  async markUsed(ids: readonly number[], at: number): Promise<void> {
    if (ids.length > 0) await this.#context.runner.run(q.markSessionsUsed, { ids, at })
  }

  async deleteOfUser(userId: number, exceptHash = ""): Promise<number[]> {
    const values = await this.#context.runner.all(q.deleteSessionsOfUser, { user_id: userId, except: exceptHash })
    return values.map(([id]) => id as number)
  }

  deleteOld(userId: number, maxSessions: number): Promise<number> {
    return this.#context.runner.run(q.deleteOld, { user_id: userId, max_sessions: maxSessions })
  }

  deleteExpired(now: number): Promise<number> {
    return this.#context.runner.run(q.deleteExpired, { now })
  }
}

export class TokenCodeRepository implements TokenCodeReads, TokenCodeWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async byHash(hash: string): Promise<TokenCodeRow | undefined> {
    const values = await this.#context.runner.first(q.codeByHash, { hash })
    return values && tokenCodesTable.toRow(values)
  }

  async insert(row: Omit<TokenCodeRow, "createdAt">): Promise<void> {
    const { runner, clock } = this.#context
    await runner.run(q.insertCode, tokenCodesTable.toColumns({ ...row, createdAt: clock.now() }))
  }

  async delete(hash: string): Promise<boolean> {
    return (await this.#context.runner.run(q.deleteCode, { hash })) > 0
  }

  deleteOld(userId: number, maxCodes: number): Promise<number> {
    return this.#context.runner.run(q.deleteOldCodes, { user_id: userId, max_codes: maxCodes })
  }

  deleteExpired(now: number): Promise<number> {
    return this.#context.runner.run(q.deleteExpiredCodes, { now })
  }
}
