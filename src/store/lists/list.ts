import { bounds, Failure } from "#contract"
import type { QueryRunner } from "../driver.ts"
import { fold, indexKey } from "../fold.ts"
import type { ListArgs, ListShape } from "../queries/lists.ts"
import { query } from "../queries/query.ts"
import type { RowPage, RowPageRequest, StampedFields, Viewer } from "../rows.ts"
import type { ResourceFilter } from "../store.ts"
import type { Column } from "../tables/column.ts"
import type { ListedTable } from "../tables/index.ts"
import type { RowTable } from "../tables/table.ts"
import type { ColumnValue } from "../values.ts"
import { readPlannedPage, readPlannedTotal, scanRunnerFor } from "./pages.ts"
import { addGrantOnlyRows, type GrantOnlyRow, planList } from "./plan.ts"
import { findCandidates, locateSearchPage, searchBlocks } from "./search.ts"
import { toSummaries } from "./summaries.ts"

/** A table that has lists. */
export type ListTable<Row> = RowTable<Row, ListedTable>

export interface ListRequest<Row> {
  filter: ResourceFilter<Row> & { memberId?: number }
  viewer: Viewer
  page: RowPageRequest
  /** The time that decides which grants are in force. */
  now: number
}

/** One page of the matching rows that the viewer sees. */
export async function listRows<Row extends StampedFields>(
  runner: QueryRunner,
  table: ListTable<Row>,
  request: ListRequest<Row>,
): Promise<RowPage<Row>> {
  const { filter, viewer } = request
  const args: ListArgs = { now: request.now }
  const shape: ListShape = { table: table.name, subset: filter.deleted ? "deleted" : "live", sees: "all" }
  if (!(await addWhere(runner, table, filter.where ?? {}, { args, shape }))) return { rows: [], total: 0 }
  if (filter.ids) {
    shape.ids = true
    args.ids = filter.ids.filter(Number.isSafeInteger)
  }
  const words = foldedWords(filter.words ?? [])
  if (words.length > 0) {
    shape.words = true
    args.words = words
    if (!(await narrow(runner, { args, shape, userId: viewer.userId }, words))) return { rows: [], total: 0 }
  }
  if (filter.memberId !== undefined) {
    shape.member = true
    args.member = filter.memberId
  }
  addViewer(table.name, viewer, { args, shape })
  return fetchPage(runner, table, { args, shape, viewer, page: request.page, sort: filter.sort ?? { by: "id", descending: true } })
}

const maxSearchCharacters = bounds.texts.searchCharacters.value

function foldedWords(words: readonly string[]): string[] {
  const folded = [...new Set(words.map(fold))].filter((word) => word !== "")
  const length = folded.reduce((sum, word) => sum + word.length, 0)
  if (length <= maxSearchCharacters) return folded
  const max = maxSearchCharacters.toLocaleString("en")
  throw new Failure("invalid", `The words of q may have ${max} characters together; got ${length.toLocaleString("en")}`, { field: "q" })
}

interface ListQuery {
  args: ListArgs
  shape: ListShape
}

/** Limits the list to the candidates of an index, if they are few. False if no row can match. */
async function narrow(
  runner: QueryRunner,
  { args, shape, userId }: ListQuery & { userId: number },
  words: readonly string[],
): Promise<boolean> {
  const candidates = await findCandidates(runner, { shape, userId }, words)
  if (!candidates) return true
  const among = args.ids && new Set(args.ids)
  args.ids = among ? candidates.filter((id) => among.has(id)) : candidates
  shape.ids = true
  return args.ids.length > 0
}

/** False if no row can match. */
export async function addWhere<Row>(runner: QueryRunner, table: ListTable<Row>, where: Partial<Row>, draft: ListQuery): Promise<boolean> {
  const conditions: string[] = []
  for (const [field, value] of Object.entries(where)) {
    const column = comparableColumn(table, field)
    let name = column.name
    let wanted: unknown = value
    if (column.isCopied || column.isJoined) {
      wanted = await idOfName(runner, column.name, String(value))
      name = column.name === "user_name" ? "user_id" : "group_id"
      if (wanted === undefined) return false
    }
    if (wanted === null) {
      conditions.push(`${name} null`)
      continue
    }
    if (!isScalar(wanted) || (typeof wanted === "number" && !Number.isSafeInteger(wanted))) return false
    addCondition(name, wanted, { conditions, args: draft.args })
    if (column.foldedIn) addCondition(column.foldedIn, indexKey(fold(String(wanted))), { conditions, args: draft.args })
  }
  if (conditions.length > 0) draft.shape.where = conditions.sort()
  return true
}

function addCondition(column: string, value: string | number | boolean, to: { conditions: string[]; args: ListArgs }): void {
  to.conditions.push(column)
  to.args[`=${column}`] = value
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
}

function comparableColumn({ name, fields }: ListTable<unknown>, field: string): Column {
  const column = Object.hasOwn(fields, field) ? fields[field] : undefined
  if (column === undefined || column.codec === "json" || column.isSecret)
    throw new TypeError(`The field ${field} of ${name} cannot be compared with`)
  return column
}

/** The empty name stands for no group. */
async function idOfName(runner: QueryRunner, column: string, name: string): Promise<number | undefined> {
  if (column === "group_name" && name === "") return 0
  const values = await runner.first(query(column === "user_name" ? "userId" : "groupId"), { name })
  return values?.[0] as number | undefined
}

export function addViewer(table: ListedTable, viewer: Viewer, { args, shape }: ListQuery): void {
  if (viewer.seesAll || table === "users" || table === "groups") return
  shape.sees = shape.subset === "deleted" ? "own" : "visible"
  args.viewer = viewer.userId
  if (shape.sees === "visible") args.groups = viewer.groupIds
}

interface PageQuery extends ListQuery {
  viewer: Viewer
  page: RowPageRequest
  sort: { by: string; descending: boolean }
}

const sortColumns: Record<string, string> = { id: "id", createdAt: "created_at", updatedAt: "updated_at", name: "name_fold" }

export async function fetchPage<Row>(runner: QueryRunner, table: ListTable<Row>, fetch: PageQuery): Promise<RowPage<Row>> {
  const { args, shape, page } = fetch
  const sort = { by: sortColumns[fetch.sort.by] ?? "id", descending: fetch.sort.descending }
  const [granted, bare] = await Promise.all([grantedTo(runner, shape, args), planList(shape, args, fetch.viewer)])
  const plan = bare && addGrantOnlyRows(bare, granted, args)
  if (granted.length > 0) {
    shape.granted = true
    args.granted = granted.map(({ id }) => id)
  }
  let total = plan && (await readPlannedTotal(runner, plan))
  if (total !== undefined && isPast(page, total)) return { rows: [], total }
  const planned = plan && total && (await readPlannedPage(runner, { table: table.name, plan, page, sort }, total))
  if (planned && total) return { ...toSummaries(table, planned), total }
  if (shape.words && sort.by === "id") {
    const found = await searchedPage(runner, { ...fetch, sort })
    if (found) return { ...toSummaries(table, found.values), total: found.total }
  }
  if (shape.words && args.ids && page.page === 1 && args.ids.length <= page.pageSize) {
    const all = await scannedPage(runner, { ...fetch, sort }, args.ids.length)
    return { ...toSummaries(table, all), total: all.length }
  }
  const scanning =
    total !== undefined && isNear(shape, page, total) ? runner : await scanRunnerFor(runner, { shape, args, userId: fetch.viewer.userId })
  total ??= ((await scanning.first(query("total", shape), args)) as [number])[0]
  if (isPast(page, total)) return { rows: [], total }
  const values = await scannedPage(scanning, { ...fetch, sort }, total)
  return { ...toSummaries(table, values), total }
}

/** A page of a search with cached counts per block: only the blocks of the page are scanned. */
async function searchedPage(
  runner: QueryRunner,
  { args, shape, viewer, page, sort }: PageQuery,
): Promise<{ values: ColumnValue[][]; total: number } | undefined> {
  const blocks = await searchBlocks(runner, { shape, args, userId: viewer.userId })
  if (!blocks) return undefined
  const total = blocks.reduce((sum, [, n]) => sum + n, 0)
  if (isPast(page, total)) return { values: [], total }
  const limit = Math.min(page.pageSize, total - (page.page - 1) * page.pageSize)
  const offset = sort.descending ? (page.page - 1) * page.pageSize : total - (page.page - 1) * page.pageSize - limit
  const range = locateSearchPage(blocks, { offset, limit })
  const scanning = await scanRunnerFor(runner, { shape, args, userId: viewer.userId })
  const values = await scanning.all(query("page", { ...shape, between: true, by: "id", descending: true }), {
    ...args,
    low: range.low,
    high: range.high,
    limit,
    offset: range.before,
  })
  return { values: sort.descending ? values : values.reverse(), total }
}

/** The rows that the viewer sees by grants alone, newest first. */
async function grantedTo(runner: QueryRunner, { table, subset, sees }: ListShape, args: ListArgs): Promise<GrantOnlyRow[]> {
  if (sees !== "visible" || table === "users" || table === "groups" || table === "grants") return []
  const to = { user_id: args.viewer as number, groups: args.groups ?? [], now: args.now as number }
  const found = await runner.all(query("granted", { table, subset: subset === "ended" ? subset : "live" }), to)
  return found.map(([id, userId]) => ({ id: id as number, userId: userId as number }))
}

/** Whether an index reaches the page in few steps: every row counts, and an end is near. */
function isNear({ sees, where }: ListShape, { page, pageSize }: RowPageRequest, total: number): boolean {
  return sees === "all" && where === undefined && Math.min(page * pageSize, total - (page - 1) * pageSize) < 2_000
}

function isPast({ page, pageSize }: RowPageRequest, total: number): boolean {
  return (page - 1) * pageSize >= total
}

/** Scans the rows from the nearer end. */
async function scannedPage(runner: QueryRunner, { args, shape, page, sort }: PageQuery, total: number): Promise<ColumnValue[][]> {
  const offset = (page.page - 1) * page.pageSize
  const limit = Math.min(page.pageSize, total - offset)
  const fromEnd = offset > total / 2
  const window = fromEnd ? { limit, offset: total - offset - limit } : { limit, offset }
  const values = await runner.all(query("page", { ...shape, by: sort.by, descending: sort.descending !== fromEnd }), {
    ...args,
    ...window,
  })
  return fromEnd ? values.reverse() : values
}
