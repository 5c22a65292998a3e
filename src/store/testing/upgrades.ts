import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { DatabaseSync } from "node:sqlite"
import type { Dialect } from "../migrations/index.ts"
import type { Store } from "../store.ts"
import { unrestrictedViewer } from "../viewer.ts"
import { addImage } from "./samples.ts"

/** The versions for which fixtures exist. */
export const fixtureVersions = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]

/** The statements that create a database of that version; `write-fixtures.ts` writes them. */
export function fixture(dialect: Dialect, version: number): Promise<string> {
  return readFile(fixtureUrl(dialect, version), "utf8")
}

export function fixtureUrl(dialect: Dialect, version: number): URL {
  return new URL(`../../../test/fixtures/store/${dialect}-${version}.sql`, import.meta.url)
}

/** Creates an SQLite database of that version. */
export async function restoreFixture(file: string, version: number): Promise<void> {
  const db = new DatabaseSync(file)
  db.exec(await fixture("sqlite", version))
  db.close()
}

/** The version of an SQLite database. */
export function versionOf(file: string): unknown {
  const db = new DatabaseSync(file, { readOnly: true })
  const version = db.prepare("select max(version) as version from migrations").get()?.version
  db.close()
  return version
}

const page = { page: 1, pageSize: 10 }

/** Asserts that the store has all rows of the fixtures. */
export async function assertUpgraded(store: Store): Promise<void> {
  const [ann, bob, eve] = await Promise.all(["ann", "bob", "eve"].map((name) => store.users.byName(name)))
  assert.ok(ann && bob && eve)
  assert.deepEqual([ann.isAdmin, ann.comment, eve.deletedAt !== null], [true, "Größe 🎈", true])
  const team = await store.groups.get(1)
  assert.deepEqual([ann.limits, eve.limits, team?.limits, team?.totalLimits], [{}, {}, {}, {}], "limits that nobody set are absent")
  const asBob = { userId: bob.id, groupIds: [1], seesAll: false }
  const stranger = { userId: 99, groupIds: [], seesAll: false }
  for (const [viewer, images, data, projects] of [
    [unrestrictedViewer, ["hidden", "open"], 2, ["public", "shared"]],
    [asBob, ["hidden", "open"], 2, ["public", "shared"]],
    [stranger, ["open"], 1, ["public"]],
  ] as const) {
    const seen = await store.images.list({}, viewer, page)
    assert.deepEqual([seen.rows.map((row) => row.name), seen.total], [images, images.length])
    assert.equal((await store.data.list({}, viewer, page)).total, data)
    assert.deepEqual(
      (await store.projects.list({}, viewer, page)).rows.map((row) => row.projectName),
      projects,
    )
  }
  assert.equal((await store.images.list({ deleted: true }, unrestrictedViewer, page)).rows[0]?.name, "gone")
  assert.deepEqual(await store.groups.members(1), ["ann", "bob"])
  assert.deepEqual(await store.projects.links([1]), [{ projectId: 1, dataId: 1, mountPath: "/data/table" }])
  assert.equal((await store.runs.live()).length, 1)
  assert.equal((await store.runs.list({ states: ["ended", "failed"] }, asBob, page)).total, 2)
  assert.equal((await store.runs.byKey("0".repeat(32)))?.reason?.exitCode, 0)
  assert.deepEqual((await store.tokens.byHash("a".repeat(64)))?.scopes, ["read"])
  const session = await store.sessions.byHash("b".repeat(64))
  assert.deepEqual([session?.userId, session?.userName, session?.lastUsedAt, session?.browser], [ann.id, "ann", null, ""])
  assert.deepEqual(await store.sessions.get(session?.id ?? 0), session)
  assert.equal((await store.events.after(0, 10)).length, 1)
  assert.equal((await store.audits.list({}, unrestrictedViewer, page)).rows[0]?.requestId, "r1")
  assert.ok((await addImage(store, ann.id, { isPublished: true })).id > 3)
  assert.equal((await store.images.list({}, stranger, page)).total, 2)
}
