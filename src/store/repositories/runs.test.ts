import assert from "node:assert/strict"
import { StatementSync } from "node:sqlite"
import { test } from "node:test"
import { createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { addImage, addProject, addUser, runRow } from "../testing/samples.ts"

test("a change of a run neither writes nor reads its plan, which may be long, unless the plan changes", async (t) => {
  await using fixture = await createIdentityFixture()
  const { store } = fixture
  const { id: userId } = await addUser(store, "eve")
  const { id: imageId } = await addImage(store, userId)
  const { id: projectId } = await addProject(store, { userId, imageId })
  const { spec } = runRow(userId, projectId)
  const long = { ...spec, home: "/a".repeat(100_000) }
  const run = await store.change((tx) => tx.runs.insert(runRow(userId, projectId, { spec: long })))
  const get = t.mock.method(StatementSync.prototype, "get")
  const changed = await store.change((tx) => tx.runs.update(run, { lastActivity: 7 }))
  const [call] = get.mock.calls
  assert.ok(call)
  const written = (call.arguments as unknown[]).reduce<number>((sum, each) => sum + String(each).length, 0)
  assert.ok(written < 2_000, `${written} characters were written`)
  assert.ok(JSON.stringify(call.result).length < 2_000, "the plan was read")
  assert.deepEqual(changed, await store.runs.get(run.id))
  assert.equal(changed?.spec.home, long.home)
  const replanned = await store.change((tx) => tx.runs.transition(run.id, ["queued"], { spec }))
  assert.deepEqual(replanned?.spec, (await store.runs.get(run.id))?.spec)
  assert.equal(replanned?.spec.home, spec.home)
})

test("the plan of a run that was ready is taken from the known row, and that of any other is read", async () => {
  await using fixture = await createIdentityFixture()
  const { store } = fixture
  const { id: userId } = await addUser(store, "eve")
  const { id: imageId } = await addImage(store, userId)
  const projects = await Promise.all([1, 2].map(() => addProject(store, { userId, imageId })))
  const [early, ready] = await Promise.all(
    projects.map(({ id }, n) => store.change((tx) => tx.runs.insert(runRow(userId, id, n === 0 ? {} : { state: "ready", readyTime: 1 })))),
  )
  assert.ok(early && ready)
  const spec = { ...early.spec, home: "/other" }
  await store.change((tx) => tx.runs.transition(early.id, ["queued"], { spec }))
  const changed = await store.change((tx) => tx.runs.transition(ready, ["ready"], { lastActivity: 7 }))
  assert.deepEqual([changed?.lastActivity, changed?.spec], [7, ready.spec])
  assert.equal(changed?.spec, ready.spec)
  const rows = await store.runs.reload([ready, early])
  assert.deepEqual(rows, [await store.runs.get(early.id), changed])
  assert.deepEqual([rows[0]?.spec.home, rows[1]?.spec === ready.spec], ["/other", true])
  assert.equal(await store.change((tx) => tx.runs.transition(ready, ["starting"], {})), undefined)
})
