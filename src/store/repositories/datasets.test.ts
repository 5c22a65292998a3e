import assert from "node:assert/strict"
import { StatementSync } from "node:sqlite"
import { test } from "node:test"
import { createIdentityFixture } from "../../../test/fixtures/identity.ts"

test("a question about a path of hundreds of names sends little more than the path", async (t) => {
  await using fixture = await createIdentityFixture()
  const { store } = fixture
  const path = `/users/ann${"/abcdefghijklm".repeat(250)}`
  const all = t.mock.method(StatementSync.prototype, "all")
  assert.deepEqual([await store.data.containing(path), await store.data.overlapping(path)], [[], []])
  assert.equal(all.mock.callCount(), 2)
  const sent = all.mock.calls.flatMap(({ arguments: args }) => args as unknown[]).reduce<number>((sum, arg) => sum + String(arg).length, 0)
  assert.ok(sent < 4 * path.length, `${sent} characters for a path of ${path.length}`)
})

test("a thousand directories take few questions about their owners", async (t) => {
  await using fixture = await createIdentityFixture()
  const { store } = fixture
  const paths = Array.from({ length: 1_000 }, (_, n) => `/users/ann/projects/${n}/code`)
  const all = t.mock.method(StatementSync.prototype, "all")
  assert.deepEqual(await store.data.ownersOf(paths), new Map())
  assert.ok(all.mock.callCount() <= 2, `${all.mock.callCount()} questions`)
})
