import assert from "node:assert/strict"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { sqliteDatabase } from "../testing/databases.ts"
import { addImage, addUser } from "../testing/samples.ts"
import { unrestrictedViewer } from "../viewer.ts"

test("a transaction indexes few long texts, and all are indexed in the end", async () => {
  await using database = await sqliteDatabase()
  const clock = new ManualClock()
  await using store = await database.open({ clock })
  const { id: userId } = await addUser(store, "ann")
  for (let n = 0; n < 40; n += 1) await addImage(store, userId, { name: `${n}`, comment: `word${n} ${"x".repeat(1_900)}` })
  using db = new DatabaseSync(database.url.slice("sqlite:".length), { readOnly: true })
  const indexed = db.prepare("select id from search_marks where kind = 'images'")
  const count = () => Number(indexed.get()?.id)
  await eventually("the first ones are indexed", async () => {
    await clock.advance(1_000)
    return count() > 0
  })
  assert.ok(count() <= 2, `${count()} were indexed at once`)
  await eventually("all are indexed", async () => {
    const before = count()
    await clock.advance(10)
    assert.ok(count() - before <= 2, `${count() - before} were indexed at once`)
    return count() === 40
  })
  const { rows } = await store.images.list({ words: ["word39"] }, unrestrictedViewer, { page: 1, pageSize: 9 })
  assert.deepEqual(
    rows.map(({ name }) => name),
    ["39"],
  )
})
