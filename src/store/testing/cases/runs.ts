import assert from "node:assert/strict"
import { isLive, type RunState, runStateNames } from "#contract"
import { DuplicateError } from "../../errors.ts"
import type { RunRow } from "../../rows.ts"
import type { Change, Store } from "../../store.ts"
import { unrestrictedViewer } from "../../viewer.ts"
import { addImage, addProject, addUser, runRow } from "../samples.ts"
import type { Case } from "./case.ts"

const page = { page: 1, pageSize: 50 }

async function people(store: Store) {
  const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
  const image = await addImage(store, ann.id)
  const project = await addProject(store, { userId: ann.id, imageId: image.id })
  const other = await addProject(store, { userId: bob.id, imageId: image.id })
  return { ann, bob, image, project, other }
}

export const runRowCases: Record<string, Case> = {
  "a run is read as it was stored": async ({ open, clock }) => {
    await using store = await open()
    const { bob, project } = await people(store)
    const input = runRow(bob.id, project.id, {
      state: "starting",
      wanted: "stop",
      reason: { code: "exited", msg: "It ended", exitCode: 3, logTail: "🎈" },
      progress: { step: "pull", current: 1, total: null, unit: "bytes" },
      cpus: 4,
      gpus: 2,
      gpuMemoryMiB: 8,
      startTime: 1,
      readyTime: 2,
      endTime: 3,
      lastActivity: 4,
      expiresAt: 5,
      idleEndsAt: 6,
      nodeNames: ["n1", "n2"],
      gpuDevices: ["GPU-1"],
      imageDigest: "sha256:x",
      registryDigest: "sha256:y",
    })
    const row = await store.change((tx) => tx.runs.insert(input))
    const now = clock.now()
    assert.deepEqual(row, { ...input, id: row.id, userName: "bob", createdAt: now, updatedAt: now, version: 1 })
    assert.deepEqual(await store.runs.get(row.id), row)
    assert.deepEqual(await store.runs.byKey(input.key), row)
    assert.deepEqual(await store.runs.live(), [row])
    assert.deepEqual(await store.runs.liveOf(bob.id, project.id), row)
    assert.equal(await store.runs.byKey("none"), undefined)
  },

  "a run is inserted under a given ID if no run has this or a later ID": async ({ open }) => {
    await using store = await open()
    const { ann, bob, project, other } = await people(store)
    const add = (id: number, userId: number, projectId: number) => store.change((tx) => tx.runs.insertAs(id, runRow(userId, projectId, {})))
    assert.equal((await add(7, ann.id, project.id)).id, 7)
    assert.equal((await add(9, bob.id, project.id)).id, 9)
    for (const takenCount of [7, 8, 9]) {
      await assert.rejects(add(takenCount, bob.id, other.id), (error) => error instanceof DuplicateError && error.unique === "runId")
    }
    assert.deepEqual(await store.runs.liveOf(bob.id, other.id), undefined)
    const next = await store.change((tx) => tx.runs.insert(runRow(bob.id, other.id, {})))
    assert.ok(next.id > 9)
    assert.deepEqual((await store.runs.live()).map(({ id }) => id).slice(0, 2), [7, 9])
  },

  "a person has at most one live run of a project, and any number of ended runs": async ({ open }) => {
    await using store = await open()
    const { ann, bob, project, other } = await people(store)
    const add = (userId: number, projectId: number, state: RunState) =>
      store.change((tx) => tx.runs.insert(runRow(userId, projectId, { state })))
    for (const state of runStateNames.filter(isLive)) {
      const run = await add(bob.id, project.id, state)
      await assert.rejects(add(bob.id, project.id, "queued"), (error) => error instanceof DuplicateError && error.unique === "liveRun")
      assert.equal((await store.runs.liveOf(bob.id, project.id))?.id, run.id)
      await store.change((tx) => tx.runs.transition(run.id, [state], { state: "ended" }))
      assert.equal(await store.runs.liveOf(bob.id, project.id), undefined)
      assert.equal((await store.runs.lastOf(bob.id, project.id))?.id, run.id)
    }
    const failed = await add(bob.id, project.id, "failed")
    const queued = await add(bob.id, project.id, "queued")
    await add(ann.id, project.id, "queued")
    await add(bob.id, other.id, "queued")
    assert.equal((await store.runs.lastOf(bob.id, project.id))?.id, queued.id)
    assert.ok(queued.id > failed.id)
    assert.equal((await store.runs.live()).length, 3)
  },

  "admitted and queued runs are read without plans, and `holdings` adds up a person's live runs": async ({ open }) => {
    await using store = await open()
    const { ann, bob, project, other } = await people(store)
    const add = (userId: number, projectId: number, state: RunState) =>
      store.change((tx) => tx.runs.insert(runRow(userId, projectId, { state, cpus: 2, memoryMiB: 100, gpus: 1 })))
    const held = await add(bob.id, project.id, "ready")
    const queued = await add(bob.id, other.id, "queued")
    await add(bob.id, project.id, "ended")
    const second = await add(ann.id, project.id, "queued")
    assert.deepEqual(
      (await store.runs.admitted()).map(({ id, userName, state }) => [id, userName, state]),
      [[held.id, "bob", "ready"]],
    )
    assert.deepEqual(
      (await store.runs.queued()).map(({ id, cpus, nodeNames, startTime }) => [id, cpus, nodeNames, startTime]),
      [queued, second].map(({ id, nodeNames, startTime }) => [id, 2, nodeNames, startTime]),
    )
    assert.deepEqual(await store.runs.holdings(bob.id), { runs: 2, queued: 1, cpus: 4, memoryMiB: 200, gpus: 2 })
    assert.deepEqual(await store.runs.holdings(999), { runs: 0, queued: 0, cpus: 0, memoryMiB: 0, gpus: 0 })
    assert.deepEqual(
      [...(await store.runs.liveVersions())],
      [held, queued, second].map(({ id, version }) => [id, version]),
    )
  },

  "ended runs are pruned with their keys and grants, oldest first, and live runs never": async ({ open, clock }) => {
    await using store = await open()
    const { ann, bob, project, other } = await people(store)
    const created: RunRow[] = []
    for (let n = 0; n < 5; n += 1) {
      const run = await store.change((tx) => tx.runs.insert(runRow(bob.id, project.id, { state: "failed", endTime: clock.now() + n })))
      await store.change((tx) =>
        tx.runs.saveIdempotencyKey({ userId: bob.id, key: `k${n}`, bodyHash: "h", runId: run.id, createdAt: clock.now() }),
      )
      created.push(run)
    }
    await store.change((tx) => tx.runs.insert(runRow(bob.id, other.id, { state: "ready", endTime: null })))
    const grant = { resourceType: "run" as const, resourceId: created[0]?.id ?? 0, ownerId: bob.id, userId: ann.id, groupId: 0 }
    await store.change((tx) => tx.grants.put({ ...grant, access: "use", expiresAt: null, createdBy: bob.id }))
    assert.deepEqual(await store.runs.longHistories(5), [])
    assert.deepEqual(await store.runs.longHistories(4), [{ userId: bob.id, count: 5 }])
    const prune = (which: Parameters<Change["runs"]["prune"]>[0], limit: number) => store.change((tx) => tx.runs.prune(which, limit))
    assert.deepEqual(
      await prune({ userId: bob.id }, 2),
      created.slice(0, 2).map(({ key, userId }) => ({ key, userId })),
    )
    assert.deepEqual(await prune({ until: clock.now() + 2 }, 10), [{ key: created[2]?.key, userId: bob.id }])
    assert.deepEqual(await prune({ userId: ann.id }, 10), [])
    assert.deepEqual(
      [await store.runs.findIdempotencyKey(bob.id, "k2"), (await store.runs.findIdempotencyKey(bob.id, "k3"))?.runId],
      [undefined, created[3]?.id],
    )
    assert.deepEqual([(await store.users.countOwned(bob.id)).live, (await store.runs.longHistories(0))[0]?.count], [1, 2])
    assert.equal((await prune({ userId: bob.id }, 10)).length, 2)
    assert.equal((await store.runs.live()).length, 1)
  },

  "one of many concurrent starts succeeds": async ({ open }) => {
    await using store = await open()
    const { bob, project } = await people(store)
    const starts = Array.from({ length: 20 }, () => store.change((tx) => tx.runs.insert(runRow(bob.id, project.id))))
    const results = await Promise.allSettled(starts)
    assert.equal(results.filter((result) => result.status === "fulfilled").length, 1)
  },

  "a transition fails from a state that it does not name": async ({ open, clock }) => {
    await using store = await open()
    const { bob, project } = await people(store)
    const run = await store.change((tx) => tx.runs.insert(runRow(bob.id, project.id)))
    await clock.advance(3)
    const pulling = await store.change((tx) => tx.runs.transition(run.id, ["queued"], { state: "pulling", startTime: 9 }))
    assert.deepEqual(pulling, { ...run, state: "pulling", startTime: 9, version: 2, updatedAt: clock.now() })
    assert.equal(await store.change((tx) => tx.runs.transition(run.id, ["queued", "ready"], { state: "failed" })), undefined)
    assert.deepEqual(await store.runs.get(run.id), pulling)
    assert.equal(await store.change((tx) => tx.runs.transition(999, ["queued"], {})), undefined)
    const results = await Promise.all(
      Array.from({ length: 5 }, () => store.change((tx) => tx.runs.transition(run.id, ["pulling"], { state: "failed" }))),
    )
    assert.equal(results.filter((result) => result !== undefined).length, 1)
  },

  "an update changes only the row that it knows, also if a restored backup repeats its version": async ({ open, clock }) => {
    await using store = await open()
    const { bob, project } = await people(store)
    const run = await store.change((tx) => tx.runs.insert(runRow(bob.id, project.id)))
    await clock.advance(3)
    const update = (known: RunRow) => store.change((tx) => tx.runs.update(known, { state: "pulling" }))
    assert.equal(await update({ ...run, version: 2 }), undefined)
    assert.equal(await update({ ...run, updatedAt: run.updatedAt + 1 }), undefined)
    const updated = await update(run)
    assert.deepEqual(updated, { ...run, state: "pulling", version: 2, updatedAt: clock.now() })
    assert.equal(await update(run), undefined)
    assert.deepEqual(await store.runs.getMany([run.id, 999]), [updated])
  },

  "lists of runs contain a person's own runs and those of their projects": async ({ open }) => {
    await using store = await open()
    const { ann, bob, project, other } = await people(store)
    const cat = await addUser(store, "cat")
    const add = (userId: number, projectId: number, state: RunState) =>
      store.change((tx) => tx.runs.insert(runRow(userId, projectId, { state })))
    const r1 = await add(bob.id, project.id, "ready")
    const r2 = await add(cat.id, other.id, "queued")
    const r3 = await add(ann.id, project.id, "ended")
    const r4 = await add(ann.id, project.id, "failed")
    const seen = async (userId: number, filter: Parameters<typeof store.runs.list>[0] = {}) => {
      const viewer = userId === 0 ? unrestrictedViewer : { userId, groupIds: [], seesAll: false }
      const { rows, total } = await store.runs.list(filter, viewer, page)
      assert.equal(rows.length, total)
      return rows.map((run) => run.id)
    }
    assert.deepEqual(await seen(0), [r2.id, r1.id])
    assert.deepEqual(await seen(ann.id), [r1.id])
    assert.deepEqual(await seen(bob.id), [r2.id, r1.id])
    assert.deepEqual(await seen(cat.id), [r2.id])
    assert.deepEqual(await seen(0, { states: ["ended", "failed"] }), [r4.id, r3.id])
    assert.deepEqual(await seen(ann.id, { states: ["ended"] }), [r3.id])
    assert.deepEqual(await seen(cat.id, { states: ["ended"] }), [])
    assert.deepEqual(await seen(0, { where: { userName: "bob" } }), [r1.id])
    assert.deepEqual(await seen(0, { where: { userName: "nobody" } }), [])
    assert.deepEqual(await seen(0, { where: { projectId: other.id } }), [r2.id])
    assert.deepEqual(await seen(0, { ids: [r1.id, r3.id, 1.5] }), [r1.id])
    assert.deepEqual(await seen(0, { sort: { by: "createdAt", descending: false } }), [r1.id, r2.id])
    assert.deepEqual(await store.runs.readyProjects(bob.id, [project.id, other.id]), [project.id])
    assert.deepEqual(await store.runs.readyProjects(cat.id, [other.id]), [])
    assert.deepEqual(await store.runs.readyProjects(cat.id, []), [])
    await store.change((tx) => tx.projects.update(other.id, { userId: cat.id }))
    assert.deepEqual(await seen(bob.id), [r1.id])
    await store.change((tx) => tx.projects.update(project.id, { userId: cat.id }))
    assert.deepEqual(await seen(cat.id), [r2.id, r1.id])
  },

  "every page of the history contains a person's own runs and those of their projects": async ({ open }) => {
    await using store = await open()
    const { ann, bob, project, other } = await people(store)
    const add = (userId: number, projectId: number, state: RunState) =>
      store.change((tx) => tx.runs.insert(runRow(userId, projectId, { state })))
    const own = await add(ann.id, project.id, "ended")
    const hosted = await add(bob.id, project.id, "failed")
    const otherRun = await add(bob.id, other.id, "ended")
    const last = await add(ann.id, project.id, "failed")
    await add(bob.id, project.id, "ready")
    const seen = async (userId: number, userName?: string) => {
      const viewer = userId === 0 ? unrestrictedViewer : { userId, groupIds: [], seesAll: false }
      const filter = { states: ["ended", "failed"] as const, ...(userName === undefined ? {} : { where: { userName } }) }
      const ids: number[] = []
      for (let at = 1; ; at += 1) {
        const { rows, total } = await store.runs.list(filter, viewer, { page: at, pageSize: 1 })
        ids.push(...rows.map((run) => run.id))
        if (at > total) return ids
      }
    }
    const [a, b, c, d] = [own.id, hosted.id, otherRun.id, last.id]
    assert.deepEqual(await seen(0), [d, c, b, a])
    assert.deepEqual(await seen(ann.id), [d, b, a])
    assert.deepEqual(await seen(bob.id), [c, b])
    assert.deepEqual(await seen(ann.id, "bob"), [b], "of somebody else's runs only those of one's own projects")
    assert.deepEqual(await seen(bob.id, "ann"), [])
    assert.deepEqual(await seen(0, "bob"), [c, b])
  },

  "an idempotency key is stored for a day": async ({ open, clock }) => {
    await using store = await open()
    const { ann, bob, project } = await people(store)
    const run = await store.change((tx) => tx.runs.insert(runRow(bob.id, project.id)))
    const entry = { userId: bob.id, key: "k", bodyHash: "h", runId: run.id, createdAt: clock.now() }
    const save = (fields: Partial<typeof entry>) => store.change((tx) => tx.runs.saveIdempotencyKey({ ...entry, ...fields }))
    assert.equal(await save({}), true)
    assert.deepEqual(await store.runs.findIdempotencyKey(bob.id, "k"), entry)
    assert.equal(await save({}), true)
    assert.equal(await save({ bodyHash: "other" }), false)
    assert.equal(await save({ userId: ann.id, bodyHash: "other" }), true)
    assert.equal(await store.runs.findIdempotencyKey(bob.id, "none"), undefined)
    await clock.advance(24 * 3_600_000)
    assert.equal(await store.runs.findIdempotencyKey(bob.id, "k"), undefined)
    assert.equal(await save({ bodyHash: "new", createdAt: clock.now() }), true)
    assert.equal((await store.runs.findIdempotencyKey(bob.id, "k"))?.bodyHash, "new")
  },
}
