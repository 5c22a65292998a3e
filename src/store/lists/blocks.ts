import type { QueryRunner } from "../driver.ts"
import { blockSize } from "../queries/block-size.ts"
import { query } from "../queries/query.ts"
import type { ListedTable } from "../tables/index.ts"
import type { ListPlan } from "./plan.ts"

/** Additional blocks to read: rows may lie unevenly, and the newest block is seldom full. */
const extraBlocks = 1

/**
 * A range of IDs that contains a page, and the number of the list's rows in it before and after the
 * page, by descending ID.
 */
export interface BlockRange {
  low: number
  high: number
  before: number
  after: number
}

interface RowWindow {
  offset: number
  limit: number
}

interface PagePosition {
  table: ListedTable
  plan: ListPlan
  /** By descending ID. */
  window: RowWindow
  total: number
}

type Count = readonly [block: number, n: number]

/**
 * Finds the IDs of a page. It adds up blocks from the nearer end: about as many as even rows would
 * need, and then all of them if that was too few.
 */
export async function findBlockRange(runner: QueryRunner, { table, plan, window, total }: PagePosition): Promise<BlockRange> {
  const after = total - window.offset - window.limit
  const isUp = after < window.offset
  const walk = { offset: isUp ? after : window.offset, limit: window.limit }
  const wanted = walk.offset + walk.limit
  const highest = blockOf(((await runner.first(query("newest", { table }), {})) as [number])[0])
  const many = Math.ceil((wanted / total) * (highest + 1)) + extraBlocks
  const likely = isUp ? { low: 0, high: many - 1 } : { low: Math.max(0, highest - many + 1), high: Number.MAX_SAFE_INTEGER }
  let counts = await countsOf(runner, plan, likely)
  if (sum(counts) < wanted) counts = await countsOf(runner, plan, { low: 0, high: Number.MAX_SAFE_INTEGER })
  return isUp ? reversed(locateWindow(counts.reverse(), walk)) : locateWindow(counts, walk)
}

function blockOf(id: number): number {
  return Math.floor(id / blockSize)
}

function sum(counts: readonly Count[]): number {
  return counts.reduce((all, [, n]) => all + n, 0)
}

function reversed({ low, high, before, after }: BlockRange): BlockRange {
  return { low, high, before: after, after: before }
}

/** The counts of blocks, highest first. */
async function countsOf(runner: QueryRunner, { plus, minus, granted }: ListPlan, of: { low: number; high: number }): Promise<Count[]> {
  const counts = new Map((await runner.all(query("blocks"), { plus, minus, ...of })) as [number, number][])
  for (const id of granted) {
    const at = blockOf(id)
    if (at >= of.low && at <= of.high) counts.set(at, (counts.get(at) ?? 0) + 1)
  }
  return [...counts].filter(([, n]) => n > 0).sort(([a], [b]) => b - a)
}

/**
 * The blocks that contain the window, and the rows in them before and after it, in the order of the
 * walk.
 */
export function locateWindow(counts: readonly Count[], { offset, limit }: RowWindow): BlockRange {
  let skipped = 0
  let first = 0
  for (; first < counts.length - 1; first += 1) {
    const n = counts[first]?.[1] ?? 0
    if (skipped + n > offset) break
    skipped += n
  }
  let reached = skipped
  let last = first - 1
  while (last < counts.length - 1 && reached < offset + limit) {
    last += 1
    reached += counts[last]?.[1] ?? 0
  }
  const [from = 0] = counts[first] ?? []
  const [to = 0] = counts[last] ?? []
  return {
    low: Math.min(from, to) * blockSize,
    high: (Math.max(from, to) + 1) * blockSize - 1,
    before: offset - skipped,
    after: reached - offset - limit,
  }
}
