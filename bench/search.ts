/**
 * Compares searches by `q` over many rows with a page of the same list, in one process.
 *
 *   node bench/search.ts [--rows 1000000]
 *
 * Ratios are medians of the store's time: 1.00 equals a page with its total.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { parseArgs } from "node:util"
import { silentLogger, systemClock } from "#kit"
import { openStore, type Viewer } from "#store"
import { makeManyRows } from "./many-rows.ts"
import { compare, report } from "./tools.ts"

const { values: options } = parseArgs({ options: { rows: { type: "string", default: "1000000" } } })
const rows = Number(options.rows)
const directory = await mkdtemp(join(tmpdir(), "quayside-bench-"))
const file = join(directory, "quayside.db")
const print = (line: string) => process.stdout.write(`${line}\n`)

try {
  const { root, member } = await makeManyRows(file, rows)
  indexAll(file)
  await using store = await openStore({ url: `sqlite:${file}`, logger: silentLogger, clock: systemClock })
  const viewers: Record<string, Viewer> = {
    administrator: { userId: root.userId, groupIds: [], seesAll: true },
    "person with 10 groups and 50 grants": { userId: member.userId, groupIds: member.groupIds, seesAll: false },
  }
  for (const [name, viewer] of Object.entries(viewers)) {
    const page = { page: 1, pageSize: 20 }
    const pages = (words: string[]) => () => store.projects.list({ words }, viewer, page)
    const started = performance.now()
    const { total } = await pages(["train"])()
    print(`${name}: the first search for a word that ${total} rows hold took ${(performance.now() - started).toFixed(0)} ms`)
    const cases = {
      page: () => store.projects.list({}, viewer, page),
      "common word": pages(["train"]),
      "rare word": pages([String(rows - 7)]),
      "no row": pages(["nowhere"]),
    }
    report(`${name}, ${rows} rows`, await compare(cases, 50))
  }
} finally {
  await rm(directory, { recursive: true })
}

/** Indexes all rows at once; the server does it in the background. */
function indexAll(path: string): void {
  using db = new DatabaseSync(path)
  db.exec("pragma synchronous = off")
  db.exec("insert into projects_search (rowid, search) select id, search from projects")
  db.exec("update search_marks set id = (select max(id) from projects) where kind = 'projects'")
}
