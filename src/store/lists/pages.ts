import type { QueryRunner } from "../driver.ts"
import type { SeekShape, SlicesArgs, SlicesShape } from "../queries/index-slices.ts"
import type { ListArgs, ListShape } from "../queries/lists.ts"
import { query } from "../queries/query.ts"
import type { RowPageRequest } from "../rows.ts"
import type { ListedTable } from "../tables/index.ts"
import { tables } from "../tables/index.ts"
import type { ColumnValue } from "../values.ts"
import { type BlockRange, findBlockRange } from "./blocks.ts"
import type { ListPlan } from "./plan.ts"

/**
 * A page this near to either end is reached by skipping rows; for others the counters of blocks
 * find it.
 */
const maxSkippedRows = 400
/** The maximum of rows that are sorted completely for an order other than by ID. */
const maxSortedRows = 2_000

const sumCounters = { one: query("sumCounters", "one"), two: query("sumCounters", "two"), list: query("sumCounters", "list") }

export interface PlannedPage {
  table: ListedTable
  plan: ListPlan
  page: RowPageRequest
  sort: { by: string; descending: boolean }
}

export async function readPlannedTotal(runner: QueryRunner, { plus, minus, granted }: ListPlan): Promise<number> {
  const [counted, countedTwice] = await Promise.all([sum(runner, plus), minus.length === 0 ? 0 : sum(runner, minus)])
  return counted - countedTwice + granted.length
}

async function sum(runner: QueryRunner, keys: readonly string[]): Promise<number> {
  const [key = "", other = ""] = keys
  const found =
    keys.length === 1
      ? runner.first(sumCounters.one, { key })
      : keys.length === 2
        ? runner.first(sumCounters.two, { key, other })
        : runner.first(sumCounters.list, { keys })
  return ((await found) as [number])[0]
}

/** Larger tables are scanned in a place where the scan blocks nobody. A row takes some µs. */
const maxRowsInline = 2_000

/** Indexed columns with few rows per value. */
const selective = new Set(["id", "key", "name_fold", "image_id", "project_id"])

/**
 * The maximum of rows times words to compare while everybody waits: one comparison may take 0.1 ms.
 */
const maxComparisonsInline = 500
/** The assumed number of people or groups. */
const assumedNames = 100

interface Scan {
  shape: ListShape
  args: ListArgs
  userId: number
}

/**
 * The runner for a scan. People, groups and live runs are always few. A comparison with long texts,
 * or of words, reads all of them. No counter tells how many rows are deleted.
 */
export async function scanRunnerFor(runner: QueryRunner, { shape, args, userId }: Scan): Promise<QueryRunner> {
  const { table, subset, ids, where = [], words } = shape
  if (runner.scans === undefined) return runner
  if (words) {
    const rows = args.ids?.length ?? (subset === "live" ? await liveRows(runner, table) : Number.POSITIVE_INFINITY)
    return rows * (args.words ?? []).length > maxComparisonsInline ? runner.scans.forUser(userId) : runner
  }
  if (table === "users" || table === "groups" || table === "grants") return runner
  if (subset === "deleted") return runner.scans.forUser(userId)
  if (ids || where.some((name) => selective.has(name)) || (table === "runs" && subset === "live")) return runner
  if (where.some((name) => isLong(table, name))) return runner.scans.forUser(userId)
  return (await liveRows(runner, table)) > maxRowsInline ? runner.scans.forUser(userId) : runner
}

function isLong(table: ListedTable, column: string): boolean {
  return Object.values(tables[table].fields).some(({ name, maxListedBytes }) => name === column && maxListedBytes !== undefined)
}

/** The approximate number of a table's rows that are not deleted; for runs, of ended ones. */
async function liveRows(runner: QueryRunner, table: ListedTable): Promise<number> {
  if (table === "users" || table === "groups" || table === "grants") return assumedNames
  return sum(runner, table === "runs" ? ["runs ended"] : [`${table} public`, `${table} private`])
}

/** One page; undefined if a scan in the order of the rows is better. */
export async function readPlannedPage(runner: QueryRunner, wanted: PlannedPage, total: number): Promise<ColumnValue[][] | undefined> {
  const { page, pageSize } = wanted.page
  const offset = (page - 1) * pageSize
  const limit = Math.min(pageSize, total - offset)
  const { shape, args } = slicesOf(wanted)
  if (wanted.sort.by !== "id") {
    if (total > maxSortedRows) return undefined
    return runner.all(query("sortedUnion", { ...shape, by: wanted.sort.by, descending: wanted.sort.descending }), {
      ...args,
      limit,
      offset,
    })
  }
  // The page by descending ID, which is the order of the block counts.
  const window = wanted.sort.descending ? { offset, limit } : { offset: total - offset - limit, limit }
  const rows = await seek(runner, { ...wanted, shape, args, window, total })
  return wanted.sort.descending ? rows : rows.reverse()
}

function slicesOf({ table, plan }: PlannedPage): { shape: SlicesShape; args: SlicesArgs } {
  const args: SlicesArgs = plan.user === undefined ? {} : { user: plan.user }
  if (plan.granted.length > 0) args.granted = plan.granted
  const granted = plan.granted.length > 0 ? { granted: true as const } : {}
  if (plan.groups.length > 0) args.groups = plan.groups
  return { shape: { table, slices: plan.slices, ...granted }, args }
}

interface Seek extends PlannedPage {
  shape: SlicesShape
  args: SlicesArgs
  /** By descending ID. */
  window: { offset: number; limit: number }
  total: number
}

/** Rows by descending ID. */
async function seek(runner: QueryRunner, { table, plan, shape, args, window, total }: Seek): Promise<ColumnValue[][]> {
  const { offset, limit } = window
  const get = (seeking: Omit<SeekShape, keyof SlicesShape>, { low, high, offset }: { low: number; high: number; offset: number }) => {
    const within = plan.granted.filter((id) => id >= low && id <= high)
    const reach = offset + limit
    const granted = shape.granted ? { granted: seeking.descending ? within.slice(0, reach) : within.slice(-reach) } : {}
    return runner.all(query("seek", { ...shape, ...seeking }), { ...args, ...granted, low, high, offset, limit, reach })
  }
  const whole: BlockRange = { low: 0, high: Number.MAX_SAFE_INTEGER, before: offset, after: total - offset - limit }
  const range = Math.min(whole.before, whole.after) <= maxSkippedRows ? whole : await findBlockRange(runner, { table, plan, window, total })
  if (range.before <= range.after) return get({ descending: true }, { ...range, offset: range.before })
  return (await get({ descending: false }, { ...range, offset: range.after })).reverse()
}
