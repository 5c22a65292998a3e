import { addViewer, addWhere, fetchPage } from "../lists/list.ts"
import type { ListArgs, ListShape } from "../queries/lists.ts"
import { query } from "../queries/query.ts"
import type { GrantRow, RowPage, RowPageRequest, Viewer } from "../rows.ts"
import type { GrantFilter, GrantReads, GrantWrites } from "../store.ts"
import { datasetWritersTable } from "../tables/datasets.ts"
import { grantAccessMapper, grantsTable } from "../tables/grants.ts"
import type { ColumnValue } from "../values.ts"
import type { RepositoryContext } from "./resource.ts"

const q = {
  get: query("grantInForce"),
  accessByGrants: query("accessByGrants"),
  of: query("grantsOf"),
  put: query("putGrant"),
  delete: query("deleteGrant"),
  deleteMany: query("deleteGrants"),
  expired: query("expiredGrants"),
  recordWriter: query("recordDatasetWriter"),
}

export class GrantRepository implements GrantReads, GrantWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async get(id: number): Promise<GrantRow | undefined> {
    const { runner, clock } = this.#context
    const values = Number.isSafeInteger(id) ? await runner.first(q.get, { id, now: clock.now() }) : undefined
    return values && grantsTable.toRow(values)
  }

  async accessFor(...[type, ids, { userId, groupIds }]: Parameters<GrantReads["accessFor"]>): ReturnType<GrantReads["accessFor"]> {
    const { runner, clock } = this.#context
    const args = { thing_type: type, ids, user_id: userId, groups: groupIds, now: clock.now() }
    const found = ids.length === 0 ? [] : await runner.all(q.accessByGrants, args)
    return found.map(grantAccessMapper.toRow)
  }

  async onResources(type: GrantRow["resourceType"], ids: readonly number[]): Promise<GrantRow[]> {
    if (ids.length === 0) return []
    const { runner, clock } = this.#context
    return (await runner.all(q.of, { thing_type: type, ids, now: clock.now() })).map(grantsTable.toRow)
  }

  async list(filter: GrantFilter, viewer: Viewer, page: RowPageRequest): Promise<RowPage<GrantRow>> {
    const { runner, clock } = this.#context
    const args: ListArgs = { now: clock.now() }
    const shape: ListShape = { table: "grants", subset: "live", sees: "all" }
    if (!(await addWhere(runner, grantsTable, filter.where ?? {}, { args, shape }))) return { rows: [], total: 0 }
    if (filter.ids) {
      shape.ids = true
      args.ids = filter.ids.filter(Number.isSafeInteger)
    }
    addViewer("grants", viewer, { args, shape })
    return fetchPage(runner, grantsTable, { args, shape, viewer, page, sort: { by: "id", descending: true } })
  }

  async put(row: Parameters<GrantWrites["put"]>[0]): Promise<GrantRow> {
    const { runner, clock } = this.#context
    const now = clock.now()
    if (row.resourceType === "data" && row.access === "write")
      await runner.run(q.recordWriter, datasetWritersTable.toColumns({ ...row, dataId: row.resourceId }))
    const columns = { ...grantsTable.toColumns(row), created_at: now, updated_at: now }
    return grantsTable.toRow((await runner.first(q.put, columns)) as ColumnValue[])
  }

  async delete(id: number): Promise<boolean> {
    return (await this.#context.runner.run(q.delete, { id })) > 0
  }

  async anyExpired(): Promise<boolean> {
    const { runner, clock } = this.#context
    return (await runner.first(q.expired, { now: clock.now(), limit: 1 })) !== undefined
  }

  async pruneExpired(limit: number): Promise<GrantRow[]> {
    const { runner, clock } = this.#context
    const rows = (await runner.all(q.expired, { now: clock.now(), limit })).map(grantsTable.toRow)
    if (rows.length > 0) await runner.run(q.deleteMany, { ids: rows.map(({ id }) => id) })
    return rows
  }
}
