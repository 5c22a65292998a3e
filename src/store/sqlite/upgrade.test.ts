import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { StoreError } from "../errors.ts"
import { migrations } from "../migrations/index.ts"
import { sqliteDatabase, testDatabase } from "../testing/databases.ts"
import { assertUpgraded, fixture, keptVersions } from "../testing/upgraded.ts"

async function restore(file: string, version: number): Promise<void> {
  const db = new DatabaseSync(file)
  db.exec(await fixture("sqlite", version))
  db.close()
}

function versionOf(file: string): unknown {
  const db = new DatabaseSync(file, { readOnly: true })
  const version = db.prepare("select max(version) as version from migrations").get()?.version
  db.close()
  return version
}

test("Every earlier version was kept", () => {
  assert.deepEqual(
    keptVersions,
    migrations.slice(0, -1).map((migration) => migration.version),
  )
})

for (const version of keptVersions) {
  test(`A database of version ${version} is brought to the newest, with all that is in it, and a whole copy is left`, async () => {
    await using database = await sqliteDatabase()
    const file = database.url.slice("sqlite:".length)
    await restore(file, version)
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

test("Without room for a copy a database is not migrated, and nothing half-made is left", async () => {
  const path = await mkdtemp(join(tmpdir(), "quayside-disk-"))
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2400k", "tmpfs", path])
  try {
    const file = join(path, "quayside.db")
    await restore(file, 1)
    const db = new DatabaseSync(file)
    db.prepare("update images set doc = ? where id = 1").run("x".repeat(300_000))
    db.close()
    const database = testDatabase(`sqlite:${file}`, async () => {})
    const reserve = join(path, "ballast")
    await writeFile(reserve, Buffer.alloc(1_500_000))
    await assert.rejects(database.open(), (error) => {
      assert.ok(error instanceof StoreError, String(error))
      assert.equal(error.kind, "migration")
      assert.match(error.message, /was not migrated: no copy of it could be made \(.*full/)
      return true
    })
    assert.equal(versionOf(file), 1)
    assert.deepEqual(
      (await readdir(path)).filter((name) => name.includes("copy") || name.includes("version")),
      [],
    )
    await rm(reserve)
    await using store = await database.open()
    await assertUpgraded(store)
  } finally {
    execFileSync("umount", ["-l", path])
    await rm(path, { recursive: true })
  }
})

test("A copy that is damaged stops the migration: the database is as it was, and no copy is left", async () => {
  await using database = await sqliteDatabase()
  const file = database.url.slice("sqlite:".length)
  await restore(file, 1)
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

test("A migration that fails leaves the database as it was", async () => {
  await using database = await sqliteDatabase()
  const file = database.url.slice("sqlite:".length)
  await restore(file, 1)
  const db = new DatabaseSync(file)
  // What comes before it has been done by then.
  db.exec("create index runs_owned_history on runs (id)")
  db.close()
  await assert.rejects(
    database.open(),
    (error) => error instanceof StoreError && error.kind === "migration" && /version 2/.test(error.message),
  )
  assert.equal(versionOf(file), 1)
  const left = new DatabaseSync(file, { readOnly: true })
  assert.equal(left.prepare("select count(*) as n from sqlite_schema where type = 'trigger'").get()?.n, 0)
  left.close()
})

test("A database of the newest version is opened without a copy and without being written", async () => {
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
