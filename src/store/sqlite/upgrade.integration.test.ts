import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { StoreError } from "../errors.ts"
import { testDatabase } from "../testing/databases.ts"
import { assertUpgraded, restoreFixture, versionOf } from "../testing/upgrades.ts"

test("a database is not migrated without room for a copy, and no partial copy remains", async () => {
  const path = await mkdtemp(join(tmpdir(), "quayside-disk-"))
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=3600k", "tmpfs", path])
  try {
    const file = join(path, "quayside.db")
    await restoreFixture(file, 1)
    const db = new DatabaseSync(file)
    db.prepare("update images set doc = ? where id = 1").run("x".repeat(300_000))
    db.close()
    const database = testDatabase(`sqlite:${file}`, async () => {})
    const reserve = join(path, "ballast")
    await writeFile(reserve, Buffer.alloc(2_700_000))
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
