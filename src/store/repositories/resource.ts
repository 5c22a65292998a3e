import type { Clock } from "#kit"
import type { QueryRunner } from "../driver.ts"
import { DuplicateError } from "../errors.ts"
import { listRows } from "../lists/list.ts"
import { toSummaries } from "../lists/summaries.ts"
import { type Query, query } from "../queries/query.ts"
import type { RowPage, RowPageRequest, RowSummaries, StampedFields, Viewer } from "../rows.ts"
import type { NewRow, ResourceFilter, ResourceReads, RightsRow, Writes } from "../store.ts"
import { type ResourceTable, type StampedTable, tables } from "../tables/index.ts"
import { type RowMapper, rowMapper } from "../tables/row-mapper.ts"
import type { RowTable } from "../tables/table.ts"

/** A table of named rows with stamps and soft deletion. */
export type StampedRowTable<Row> = RowTable<Row, StampedTable>
const uniqueNames = { users: "userName", groups: "groupName" } as const

export interface RepositoryContext {
  runner: QueryRunner
  clock: Clock
}

/** Reads and writes that all stamped tables share. */
export class StampedRepository<Row extends StampedFields> implements Writes<Row> {
  protected readonly runner: QueryRunner
  protected readonly clock: Clock
  protected readonly table: StampedRowTable<Row>
  readonly #queries: Queries

  constructor({ runner, clock }: RepositoryContext, table: StampedRowTable<Row>) {
    this.runner = runner
    this.clock = clock
    this.table = table
    this.#queries = queriesOf(table.name)
  }

  async get(id: number): Promise<Row | undefined> {
    if (!Number.isSafeInteger(id)) return undefined
    const values = await this.runner.first(this.#queries.get, { id })
    return values && this.table.toRow(values)
  }

  async getMany(ids: readonly number[]): Promise<Row[]> {
    if (ids.length === 0) return []
    const rows = await this.runner.all(this.#queries.getMany, { ids: ids.filter(Number.isSafeInteger) })
    return rows.map(this.table.toRow)
  }

  async insert(row: NewRow<Row>): Promise<Row> {
    const now = this.clock.now()
    const values = await this.runner.first(this.#queries.insert, { ...this.table.toColumns(row), created_at: now, updated_at: now })
    if (values) return this.table.toRow(values)
    throw new DuplicateError(uniqueNames[this.table.name === "groups" ? "groups" : "users"])
  }

  async update(id: number, fields: Partial<NewRow<Row>>): Promise<Row | undefined> {
    const row = await this.get(id)
    if (row === undefined) return undefined
    const columns = this.table.toColumns({ ...row, ...fields })
    const values = await this.runner.first(this.#queries.update, { ...columns, id, updated_at: this.clock.now() })
    return values && this.table.toRow(values)
  }

  async setDeleted(id: number, deleted: boolean): Promise<Row | undefined> {
    const now = this.clock.now()
    const values = await this.runner.first(this.#queries.setDeleted, { id, deleted_at: deleted ? now : null, updated_at: now })
    return values && this.table.toRow(values)
  }
}

/** Rows that have an owner and can be published. */
export class ResourceRepository<Row extends StampedFields & { userId: number }>
  extends StampedRepository<Row>
  implements ResourceReads<Row>
{
  list(filter: ResourceFilter<Row>, viewer: Viewer, page: RowPageRequest): Promise<RowPage<Row>> {
    return listRows(this.runner, this.table, { filter, viewer, page, now: this.clock.now() })
  }

  async summaries(ids: readonly number[]): Promise<RowSummaries<Row>> {
    return this.#summaries(ids, false)
  }

  async partSummaries(ids: readonly number[]): Promise<RowSummaries<Row>> {
    return this.#summaries(ids, true)
  }

  async #summaries(ids: readonly number[], part: boolean): Promise<RowSummaries<Row>> {
    if (ids.length === 0) return { rows: [] }
    const { name: table } = this.table
    return toSummaries(this.table, await this.runner.all(query("summaries", { table, part }), { ids }))
  }

  async part(id: number): Promise<Row | undefined> {
    const [row] = await this.parts(Number.isSafeInteger(id) ? [id] : [])
    return row
  }

  async parts(ids: readonly number[]): Promise<Row[]> {
    if (ids.length === 0) return []
    return (await this.runner.all(query("parts", { table: this.table.name }), { ids })).map(this.table.toRow)
  }

  async rights(ids: readonly number[]): Promise<RightsRow<Row>[]> {
    if (ids.length === 0) return []
    const { columns, toRow } = rightsMapperOf(this.table)
    const found = await this.runner.all(query("columns", { table: this.table.name, columns }), { ids })
    return found.map(toRow) as RightsRow<Row>[]
  }

  override async setDeleted(id: number, deleted: boolean): Promise<Row | undefined> {
    await this.runner.run(setGrantsLive, { ...this.#resource(id), is_live: deleted ? 0 : 1 })
    return super.setDeleted(id, deleted)
  }

  override async update(id: number, fields: Partial<NewRow<Row>>): Promise<Row | undefined> {
    const row = await super.update(id, fields)
    if (row === undefined || (fields as Partial<Row>).userId === undefined) return row
    const owner = { ...this.#resource(id), owner_id: row.userId }
    if ((await this.runner.run(transferGrants, owner)) > 0) await this.runner.run(deleteGrantToOwner, owner)
    return row
  }

  #resource(id: number) {
    return { thing_type: tables[this.table.name as ResourceTable].resourceType, thing_id: id }
  }
}

const rightsFields = ["id", "userId", "isPublished", "isPublic", "groupId", "deletedAt"] as const
const rightsMappers = new Map<string, RowMapper<unknown>>()

function rightsMapperOf({ name, fields }: Pick<StampedRowTable<unknown>, "name" | "fields">): RowMapper<unknown> {
  const mapper =
    rightsMappers.get(name) ??
    rowMapper(Object.fromEntries(rightsFields.flatMap((field) => (fields[field] ? [[field, fields[field]]] : []))))
  rightsMappers.set(name, mapper)
  return mapper
}

const setGrantsLive = query("setGrantsLive")
const transferGrants = query("transferGrants")
const deleteGrantToOwner = query("deleteGrantToOwner")

interface Queries {
  get: Query<{ id: number }>
  getMany: Query<{ ids: readonly number[] }>
  insert: Query<Readonly<Record<string, unknown>>>
  update: Query<Readonly<Record<string, unknown>> & { id: number }>
  setDeleted: Query<{ id: number; deleted_at: number | null; updated_at: number }>
}

const queriesByTable = new Map<StampedTable, Queries>()
function queriesOf(table: StampedTable): Queries {
  const queries = queriesByTable.get(table) ?? {
    get: query("get", table),
    getMany: query("getMany", table),
    insert: query("insert", table),
    update: query("update", table),
    setDeleted: query("setDeleted", table),
  }
  queriesByTable.set(table, queries)
  return queries
}
