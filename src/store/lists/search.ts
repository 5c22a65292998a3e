import type { QueryRunner } from "../driver.ts"
import { blockSize } from "../queries/block-size.ts"
import type { ListArgs, ListShape } from "../queries/lists.ts"
import { query } from "../queries/query.ts"
import { type ResourceTable, resourceTables } from "../tables/index.ts"
import { type BlockRange, locateWindow } from "./blocks.ts"
import { scanRunnerFor } from "./pages.ts"

/**
 * Words with more candidates are searched for by a scan: most candidates are then on the page
 * anyway.
 */
const maxCandidates = 1_000
/** The index receives only the longest words; the rows decide. */
const maxWords = 8
/**
 * The maximum of trigrams for SQLite's index, of all words together. It looks for them one by one:
 * a comparison of positions takes seconds if a row contains a trigram thousands of times.
 */
const maxTrigrams = 32
/** Trigrams find no shorter words. */
const minCharacters = 3
/** PostgreSQL receives the beginning of the longest word. */
const maxCharacters = 64

function isSearched(table: string): table is ResourceTable {
  return (resourceTables as readonly string[]).includes(table)
}

/**
 * A superset of the IDs of rows with the words. Undefined if these are many, or if no index helps.
 */
export async function findCandidates(
  runner: QueryRunner,
  { shape, userId }: { shape: ListShape; userId: number },
  words: readonly string[],
): Promise<number[] | undefined> {
  if (!isSearched(shape.table) || !runner.search?.isIndexed) return undefined
  const long = words
    .map((word) => [...word])
    .filter((characters) => characters.length >= minCharacters)
    .sort((a, b) => b.length - a.length)
  const [longest] = long
  if (longest === undefined) return undefined
  const pattern = patternOf(longest.slice(0, maxCharacters).join(""))
  const args = { match: matchOf(long.slice(0, maxWords)), pattern, limit: maxCandidates + 1 }
  const { ids: _all, ...searched } = shape
  const scanning = await scanRunnerFor(runner, { shape: searched, args: { words }, userId })
  const found = await scanning.all(query("searchCandidates", shape.table), args)
  return found.length > maxCandidates ? undefined : found.map(([id]) => id as number)
}

/** An expression of SQLite's FTS5: every trigram must occur. */
function matchOf(words: readonly (readonly string[])[]): string {
  const each = Math.floor(maxTrigrams / words.length)
  const trigrams = new Set(words.flatMap((characters) => trigramsOf(characters, each)))
  return [...trigrams].map((text) => `"${text.replaceAll('"', '""')}"`).join(" ")
}

/** At most `maxCount` trigrams of a word, from its beginning to its end. */
function trigramsOf(characters: readonly string[], maxCount: number): string[] {
  const count = characters.length - minCharacters + 1
  const step = Math.max(1, (count - 1) / (maxCount - 1))
  return Array.from({ length: Math.min(count, maxCount) }, (_, i) => {
    const at = Math.round(i * step)
    return characters.slice(at, at + minCharacters).join("")
  })
}

function patternOf(text: string): string {
  return `%${text.replace(/[\\%_]/g, "\\$&")}%`
}

/**
 * The number of found rows per block, highest first; undefined if counts are not cached. Only
 * blocks that changed since the last identical search are counted again.
 */
export async function searchBlocks(
  runner: QueryRunner,
  { shape: searched, args, userId }: { shape: ListShape; args: ListArgs; userId: number },
): Promise<readonly (readonly [number, number])[] | undefined> {
  const { table } = searched
  if (!isSearched(table) || !runner.search || searched.ids) return undefined
  const shape = { ...searched, table }
  const scanning = await scanRunnerFor(runner, { shape, args, userId })
  // Versions come first: a count may then be newer than its version, never older.
  const versions = await versionsOf(runner, table)
  const counts = runner.search.counts.of(JSON.stringify([shape, { ...args, now: 0 }]))
  const stale = [...versions.keys()].filter((block) => counts.get(block)?.version !== versions.get(block))
  if (stale.length > 0) {
    const found = (await scanning.all(query("listBlocks", shape), { ...args, blocks: stale })) as [number, number][]
    for (const [block, n] of found) counts.set(block, { version: versions.get(block) ?? "", n })
  }
  return [...counts].map(([block, { n }]) => [block, n] as const).sort(([a], [b]) => b - a)
}

/**
 * A version for each block of a table. It changes with each change of a row, and with each new row
 * while the block is not full.
 */
async function versionsOf(runner: QueryRunner, table: ResourceTable): Promise<Map<number, string>> {
  const [newest] = (await runner.first(query("newest", { table }), {})) as [number]
  const changed = new Map((await runner.all(query("blockVersions", table), {})) as [number, number][])
  const last = Math.floor(newest / blockSize)
  return new Map(Array.from({ length: last + 1 }, (_, block) => [block, `${changed.get(block) ?? 0}${block === last ? ` ${newest}` : ""}`]))
}

/** The blocks of a page of a search, by descending ID. */
export function locateSearchPage(blocks: readonly (readonly [number, number])[], window: { offset: number; limit: number }): BlockRange {
  return locateWindow(
    blocks.filter(([, n]) => n > 0),
    window,
  )
}
