import type { Value } from "../driver.ts"
import { Duplicate } from "../errors.ts"
import type { GroupRow, Page, PageRequest, SessionRow, TokenRow, UserRow, Viewer } from "../rows.ts"
import { query } from "../sql/catalog.ts"
import type {
  GroupReads,
  GroupWrites,
  NewRow,
  ResourceFilter,
  SessionReads,
  SessionWrites,
  TokenReads,
  TokenWrites,
  UserReads,
} from "../store.ts"
import { groups, users } from "./kinds.ts"
import { listRows } from "./list.ts"
import { type Context, StampedRows } from "./resource.ts"

const q = {
  userByName: query("userByName"),
  userCount: query("userCount"),
  groupByName: query("groupByName"),
  members: query("groupMembers"),
  ofUser: query("groupsOfUser"),
  clearMembers: query("clearMembers"),
  addMember: query("addMember"),
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
  deleteExpired: query("deleteExpiredSessions"),
}

/** Lists of people and groups are not filtered by who looks. */
const everybody: Viewer = { userId: 0, groupIds: [], everything: true }

export class Users extends StampedRows<UserRow> implements UserReads {
  constructor(context: Context) {
    super(context, users)
  }

  async byName(userName: string): Promise<UserRow | undefined> {
    const values = await this.session.first(q.userByName, { name: userName })
    return values && users.toRow(values)
  }

  list(filter: ResourceFilter<UserRow>, page: PageRequest): Promise<Page<UserRow>> {
    return listRows(this.session, users, { filter, viewer: everybody, page })
  }

  async count(): Promise<number> {
    return ((await this.session.first(q.userCount, {})) as [number])[0]
  }

  override async update(id: number, fields: Partial<NewRow<UserRow>>): Promise<UserRow | undefined> {
    const { userName: _, ...changeable } = fields
    return super.update(id, changeable)
  }
}

export class Groups extends StampedRows<GroupRow> implements GroupReads, GroupWrites {
  constructor(context: Context) {
    super(context, groups)
  }

  async byName(groupName: string): Promise<GroupRow | undefined> {
    const values = await this.session.first(q.groupByName, { name: groupName })
    return values && groups.toRow(values)
  }

  list(filter: ResourceFilter<GroupRow> & { memberId?: number }, page: PageRequest): Promise<Page<GroupRow>> {
    return listRows(this.session, groups, { filter, viewer: everybody, page })
  }

  async members(groupId: number): Promise<string[]> {
    return (await this.session.all(q.members, { group_id: groupId })).map(([name]) => name as string)
  }

  async ofUser(userId: number): Promise<GroupRow[]> {
    return (await this.session.all(q.ofUser, { user_id: userId })).map(groups.toRow)
  }

  async setMembers(groupId: number, userIds: readonly number[]): Promise<void> {
    await this.session.run(q.clearMembers, { group_id: groupId })
    for (const userId of userIds) await this.session.run(q.addMember, { group_id: groupId, user_id: userId })
  }

  override async update(id: number, fields: Partial<NewRow<GroupRow>>): Promise<GroupRow | undefined> {
    const { groupName: _, ...changeable } = fields
    return super.update(id, changeable)
  }
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
