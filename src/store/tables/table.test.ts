import assert from "node:assert/strict"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import { openStore } from "../open.ts"
import { sqliteDatabase } from "../testing/databases.ts"
import { flag, integer, json, text } from "./column.ts"
import { tables } from "./index.ts"
import { pickFields } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

const notes = describeTable({
  name: "notes",
  fields: {
    id: integer("id", { written: "never" }),
    noteTitle: text("note_title", { written: "once" }),
    isPinned: flag("is_pinned"),
    tags: json<string[] | null>()("tags"),
  },
  derived: { title_fold: (row: { noteTitle: string }) => row.noteTitle.toLowerCase() },
})

test("a table's mapper makes a row of the values in the order of its columns", () => {
  assert.deepEqual(notes.columns, ["id", "note_title", "is_pinned", "tags"])
  assert.deepEqual(notes.toRow([1, "A", 1, '["x"]']), { id: 1, noteTitle: "A", isPinned: true, tags: ["x"] })
  assert.deepEqual(notes.toRow([2, "B", 0, null]), { id: 2, noteTitle: "B", isPinned: false, tags: null })
})

test("each row has an empty list of its own", () => {
  const [first, second] = [notes.toRow([1, "A", 1, "[]"]), notes.toRow([1, "A", 1, "[]"])]
  assert.deepEqual(first.tags, [])
  assert.notEqual(first.tags, second.tags)
})

test("a table's mapper makes columns of a row, with those that are derived from it", () => {
  assert.deepEqual(notes.toColumns({ id: 7, noteTitle: "A", isPinned: true, tags: ["x"] }), {
    note_title: "A",
    is_pinned: true,
    tags: '["x"]',
    title_fold: "a",
  })
  assert.equal(notes.toColumns({ noteTitle: "A", tags: null }).tags, null)
})

test("an insert has every written column as an argument, an update those that can change", () => {
  assert.deepEqual(notes.insertColumns, ["note_title", "is_pinned", "tags", "title_fold"])
  assert.deepEqual(notes.updateColumns, ["is_pinned", "tags", "title_fold"])
})

test("a mapper of some fields reads only their columns, in the given order", () => {
  const pinned = pickFields(notes, ["isPinned", "id"])
  assert.deepEqual(pinned.columns, ["is_pinned", "id"])
  assert.deepEqual(pinned.toRow([1, 5]), { isPinned: true, id: 5 })
})

test("the descriptions name every column of their tables in a new database", async () => {
  await using database = await sqliteDatabase()
  await using store = await openStore({ url: database.url, logger: silentLogger, clock: systemClock })
  assert.equal(store.dialect, "sqlite")
  using db = new DatabaseSync(database.url.slice("sqlite:".length), { readOnly: true })
  for (const table of Object.values(tables)) {
    const columns = db.prepare("select name from pragma_table_info(?)").all(table.name)
    assert.deepEqual([...table.storedColumns].sort(), columns.map(({ name }) => String(name)).sort(), table.name)
  }
})

test("no column of an SQLite table stands behind a long text, whose pages would be read for it", async () => {
  await using database = await sqliteDatabase()
  await using _store = await openStore({ url: database.url, logger: silentLogger, clock: systemClock })
  using db = new DatabaseSync(database.url.slice("sqlite:".length), { readOnly: true })
  for (const { name: table, fields } of Object.values(tables)) {
    const long = new Set(Object.values(fields).flatMap(({ name, maxListedBytes }) => (maxListedBytes === undefined ? [] : [name])))
    const columns = db.prepare("select name from pragma_table_info(?)").all(table)
    const isLong = columns.map(({ name }) => long.has(String(name)))
    assert.deepEqual(isLong, [...isLong].sort(), table)
  }
})
