import assert from "node:assert/strict"
import { readdir, readFile, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { StoreError } from "../errors.ts"
import { migrations } from "../migrations/index.ts"
import { sqliteDatabase, testDatabase } from "../testing/databases.ts"
import { assertUpgraded, fixtureVersions, restoreFixture, versionOf } from "../testing/upgrades.ts"

test("every earlier version has a fixture", () => {
  assert.deepEqual(
    fixtureVersions,
    migrations.slice(0, -1).map((migration) => migration.version),
  )
})

for (const version of fixtureVersions) {
  test(`a database of version ${version} is migrated completely, and a complete copy remains`, async () => {
    await using database = await sqliteDatabase()
    const file = database.url.slice("sqlite:".length)
    await restoreFixture(file, version)
    await using store = await database.open()
    await assertUpgraded(store)
    assert.equal(versionOf(file), migrations.length)
    const copies = (await readdir(dirname(file))).filter((name) => name.includes(".version-"))
    assert.equal(copies.length, 1)
    const copy = join(dirname(file), copies[0] ?? "")
    assert.match(copy, new RegExp(`\\.version-${version}-\\d{8}T\\d{6}Z$`))
    assert.equal(versionOf(copy), version)
    assert.equal((await stat(copy)).mode & 0o077, 0)
    await using second = await testDatabase(`sqlite:${copy}`, async () => {}).open()
    await assertUpgraded(second)
  })
}

test("a damaged copy stops the migration; the database is unchanged and no copy remains", async () => {
  await using database = await sqliteDatabase()
  const file = database.url.slice("sqlite:".length)
  await restoreFixture(file, 1)
  const db = new DatabaseSync(file)
  db.enableDefensive(false)
  db.exec("pragma writable_schema = on")
  const alter = (from: string, to: string) =>
    db.prepare("update sqlite_schema set sql = replace(sql, ?, ?) where name = 'groups'").run(from, to)
  alter("comment text not null", "comment text")
  db.exec("pragma writable_schema = reset")
  db.exec("update groups set comment = null")
  db.exec("pragma writable_schema = on")
  alter("comment text,", "comment text not null,")
  db.close()
  await assert.rejects(database.open(), (error) => {
    assert.ok(error instanceof StoreError, String(error))
    assert.equal(error.kind, "migration")
    assert.match(error.message, /was not migrated: no copy of it could be made \(the copy is damaged: NULL value in groups\.comment\)/)
    return true
  })
  assert.equal(versionOf(file), 1)
  assert.deepEqual(
    (await readdir(dirname(file))).filter((name) => name.includes("copy") || name.includes("version")),
    [],
  )
})

// The steps before each are complete by then.
const obstacles = [
  [2, "create index runs_owned_history on runs (id)"],
  [6, "create table grants (in_the_way integer)"],
] as const

for (const [version, obstacle] of obstacles) {
  test(`an upgrade that fails in migration ${version} leaves the database unchanged`, async () => {
    await using database = await sqliteDatabase()
    const file = database.url.slice("sqlite:".length)
    await restoreFixture(file, 1)
    const db = new DatabaseSync(file)
    db.exec(obstacle)
    db.close()
    await assert.rejects(
      database.open(),
      (error) => error instanceof StoreError && error.kind === "migration" && error.message.includes(`version ${version} `),
    )
    assert.equal(versionOf(file), 1)
    const left = new DatabaseSync(file, { readOnly: true })
    assert.equal(left.prepare("select count(*) as n from sqlite_schema where type = 'trigger'").get()?.n, 0)
    left.close()
  })
}

test("a database of the newest version opens without a copy and without a write", async () => {
  await using database = await sqliteDatabase()
  const file = database.url.slice("sqlite:".length)
  const first = await database.open()
  await first[Symbol.asyncDispose]()
  const before = await readFile(file)
  const second = await database.open()
  await second[Symbol.asyncDispose]()
  assert.deepEqual(await readFile(file), before)
  assert.deepEqual((await readdir(dirname(file))).sort(), ["quayside.db", "quayside.db.ballast", "quayside.db.lock"])
})
