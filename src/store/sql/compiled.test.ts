import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { test } from "node:test"
import { promisify } from "node:util"
import { sqliteDatabase } from "../testing/databases.ts"
import { compiledFile, compileUsual } from "./compiled.ts"

const run = promisify(execFile)

for (const dialect of ["sqlite", "postgres"] as const) {
  test(`The queries that come compiled for ${dialect} are what the builder makes of them (else run src/store/sql/generate.ts)`, async () => {
    const lines = (await readFile(compiledFile(dialect), "utf8")).trimEnd().split("\n")
    const wanted = await compileUsual(dialect)
    const stale = [...lines.filter((line) => !wanted.includes(line)), ...wanted.filter((line) => !lines.includes(line))]
    assert.deepEqual([...new Set(stale.map((line) => JSON.parse(line)[0]))], [])
  })
}

test("Opening a database, a change and the usual lists do not load the builder", async () => {
  await using database = await sqliteDatabase()
  const program = `
    import { openStore } from ${JSON.stringify(new URL("../open.ts", import.meta.url).href)}
    import { addUser, addImage } from ${JSON.stringify(new URL("../testing/samples.ts", import.meta.url).href)}
    import { silentLogger, systemClock } from "#kit"
    import { registerHooks } from "node:module"
    registerHooks({ load(url, context, next) { if (url.includes("/kysely/")) console.log(url); return next(url, context) } })
    await using store = await openStore({ url: ${JSON.stringify(database.url)}, logger: silentLogger, clock: systemClock })
    const ann = await addUser(store, process.argv[1])
    const image = await addImage(store, ann.id)
    await store.change((tx) => tx.images.update(image.id, { name: "x" }))
    for (const everything of [true, false]) {
      const viewer = { userId: ann.id, groupIds: [], everything }
      for (const where of [{}, { userName: process.argv[1] }, { isPublished: true }]) await store.images.list({ where }, viewer, { page: 1, pageSize: 20 })
      await store.images.list({ words: ["a"] }, viewer, { page: 1, pageSize: 20 })
      await store.projects.list({}, { ...viewer, groupIds: [1, 2] }, { page: 1, pageSize: 20 })
      await store.runs.list({}, viewer, { page: 1, pageSize: 20 })
      await store.runs.list({ states: ["ended", "failed"] }, viewer, { page: 1, pageSize: 20 })
    }
    if (process.argv[1] === "sorter") await store.images.list({ sort: { by: "name", descending: true } }, { userId: 1, groupIds: [], everything: true }, { page: 1, pageSize: 1 })
  `
  const loaded = async (userName: string) => {
    const { stdout } = await run(process.execPath, ["--input-type=module-typescript", "--eval", program, userName], {
      cwd: import.meta.dirname,
    })
    return stdout
  }
  assert.equal(await loaded("ann"), "")
  assert.match(await loaded("sorter"), /kysely/)
})
