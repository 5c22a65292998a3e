import type { Arg, Value } from "../driver.ts"
import { addViewer, addWhere, fetchPage, type Listed } from "../lists/list.ts"
import type { ListArgs, ListShape } from "../queries/lists.ts"
import { query } from "../queries/query.ts"
import type { GrantRow, Page, PageRequest, Viewer } from "../rows.ts"
import type { GrantFilter, GrantReads, GrantWrites } from "../store.ts"
import type { Context } from "./resource.ts"

const q = {
  get: query("grantInForce"),
  grantedOn: query("grantedOn"),
  of: query("grantsOf"),
  put: query("putGrant"),
  delete: query("deleteGrant"),
  expired: query("expiredGrants"),
}

export class Grants implements GrantReads, GrantWrites {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async get(id: number): Promise<GrantRow | undefined> {
    const { session, clock } = this.#context
    const values = Number.isSafeInteger(id) ? await session.first(q.get, { id, now: clock.now() }) : undefined
    return values && toGrant(values)
  }

  async given(...[type, ids, { userId, groupIds }]: Parameters<GrantReads["given"]>): ReturnType<GrantReads["given"]> {
    const { session, clock } = this.#context
    const args = { thing_type: type, ids, user_id: userId, groups: groupIds, now: clock.now() }
    const found = ids.length === 0 ? [] : await session.all(q.grantedOn, args)
    return found.map(([thingId, access]) => ({ thingId: thingId as number, access: access as GrantRow["access"] }))
  }

  async of(type: GrantRow["thingType"], ids: readonly number[]): Promise<GrantRow[]> {
    if (ids.length === 0) return []
    const { session, clock } = this.#context
    return (await session.all(q.of, { thing_type: type, ids, now: clock.now() })).map(toGrant)
  }

  async list(filter: GrantFilter, viewer: Viewer, page: PageRequest): Promise<Page<GrantRow>> {
    const { session, clock } = this.#context
    const args: ListArgs = { now: clock.now() }
    const shape: ListShape = { table: "grants", part: "live", sees: "all" }
    if (!(await addWhere(session, listed, filter.where ?? {}, { args, shape }))) return { rows: [], total: 0 }
    if (filter.ids) {
      shape.ids = true
      args.ids = filter.ids.filter(Number.isSafeInteger)
    }
    addViewer("grants", viewer, { args, shape })
    return fetchPage(session, listed, { args, shape, viewer, page, sort: { by: "id", descending: true } })
  }

  async put(row: Parameters<GrantWrites["put"]>[0]): Promise<GrantRow> {
    const { session, clock } = this.#context
    const columns: Record<string, Arg> = {
      at: clock.now(),
      thing_type: row.thingType,
      thing_id: row.thingId,
      owner_id: row.ownerId,
      user_id: row.userId,
      group_id: row.groupId,
      access: row.access,
      expires_at: row.expiresAt,
      created_by: row.createdBy,
    }
    return toGrant((await session.first(q.put, columns)) as Value[])
  }

  async delete(id: number): Promise<boolean> {
    return (await this.#context.session.run(q.delete, { id })) > 0
  }

  async anyExpired(): Promise<boolean> {
    const { session, clock } = this.#context
    return (await session.first(q.expired, { now: clock.now(), limit: 1 })) !== undefined
  }

  async trim(limit: number): Promise<GrantRow[]> {
    const { session, clock } = this.#context
    const rows = (await session.all(q.expired, { now: clock.now(), limit })).map(toGrant)
    for (const { id } of rows) await this.delete(id)
    return rows
  }
}

const listed: Listed<GrantRow> = {
  table: "grants",
  columns: {
    id: "id",
    thingType: "thing_type",
    thingId: "thing_id",
    userId: "user_id",
    userName: "user_name",
    groupId: "group_id",
    groupName: "group_name",
    access: "access",
    expiresAt: "expires_at",
  },
  toRow: toGrant,
}

function toGrant(v: readonly Value[]): GrantRow {
  return {
    id: v[0] as number,
    createdAt: v[1] as number,
    updatedAt: v[2] as number,
    version: v[3] as number,
    thingType: v[4] as GrantRow["thingType"],
    thingId: v[5] as number,
    ownerId: v[6] as number,
    userId: v[7] as number,
    userName: v[8] as string,
    groupId: v[9] as number,
    groupName: v[10] as string,
    access: v[11] as GrantRow["access"],
    expiresAt: v[12] as number | null,
    createdBy: v[13] as number,
  }
}
