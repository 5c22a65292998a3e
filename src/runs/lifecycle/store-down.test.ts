import assert from "node:assert/strict"
import { mkdtempDisposable } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { Failure, unsetLimits } from "#contract"
import { EngineError } from "#engine"
import type { Actor } from "#events"
import type { RunRow, Store } from "#store"
import { seededRandom } from "../../../test/fixtures/random.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { createReason } from "./reasons.ts"

/** The same store, of which about half of the changes are refused as by a full disk. */
function unreliable(store: Store): Store {
  const random = seededRandom(7)
  return new Proxy(store, {
    get(target, name) {
      if (name !== "change") {
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === "function" ? member.bind(target) : member
      }
      return (work: Parameters<Store["change"]>[0]) => {
        return random.once(2) ? Promise.reject(new Error("the disk is full")) : target.change(work)
      }
    },
  })
}

test("a run whose container is gone has no address, although the database rejects its end", async () => {
  await using fixture = await RunsFixture.open()
  let refuses = false
  const store = new Proxy(fixture.store, {
    get(target, name) {
      if (name === "change" && refuses) return () => Promise.reject(new Error("the disk is full"))
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === "function" ? member.bind(target) : member
    },
  })
  await using runs = await fixture.runs({ store })
  const { id, key } = await runs.start(fixture.request("fake/http"))
  assert.equal((await runs.waitUntilSettled(id)).state, "ready")
  assert.ok(runs.target(id)?.address)
  refuses = true
  await fixture.fake.exit(key, 1)
  await eventually("the run has no address", () => runs.target(id)?.address === undefined)
  assert.equal(runs.target(id)?.state, "ready")
  refuses = false
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
})

test("a run that ended without an answer, and was pruned, is not started again", async () => {
  await using fixture = await RunsFixture.open()
  let startedCount = 0
  const prepareDirectories = async (run: RunRow) => {
    startedCount += 1
    // Another process ends the run and prunes it; this one learns of neither.
    await fixture.store.change(async (tx) => {
      await tx.runs.transition(run.id, ["pulling"], { state: "failed", wanted: "stop", endTime: 1, reason: createReason("lost") })
      await tx.runs.prune({ until: 2 }, 1)
    })
  }
  await using runs = await fixture.runs({ prepareDirectories })
  const { id } = await runs.start(fixture.request("fake/missing"))
  assert.equal((await runs.waitUntilSettled(id)).state, "ended")
  assert.equal(runs.row(id), undefined)
  assert.equal(startedCount, 1)
})

/** The same object with another member. */
function withMember<T extends object>(object: T, name: keyof T, member: unknown): T {
  return new Proxy(object, {
    get(target, key) {
      if (key === name) return member
      const own: unknown = Reflect.get(target, key, target)
      return typeof own === "function" ? own.bind(target) : own
    },
  })
}

test("a run whose end was committed without an answer is not started again", async () => {
  await using fixture = await RunsFixture.open({ settings: { observeEveryMs: 3_600_000 } })
  let losesAnswer = false
  const change: Store["change"] = async (work, options) => {
    if (!losesAnswer) return fixture.store.change(work, options)
    losesAnswer = false
    await fixture.store.change((tx) => work(withMember(tx, "afterCommit", () => {})), options)
    throw new Error("The connection was lost")
  }
  let startedCount = 0
  const prepareDirectories = async () => {
    startedCount += 1
    losesAnswer = startedCount === 1
    throw new EngineError("mount_missing", "It is missing")
  }
  await using runs = await fixture.runs({ store: withMember(fixture.store, "change", change), prepareDirectories })
  const { id } = await runs.start(fixture.request("fake/http"))
  assert.equal((await runs.waitUntilSettled(id)).state, "failed")
  assert.equal(startedCount, 1)
})

/** The same store with a disk that the test can fill, also for urgent changes. */
function filled(store: Store) {
  const disk = { isFull: false, refused: 0 }
  const whole = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (name !== "change") return typeof member === "function" ? member.bind(target) : member
      const change: Store["change"] = async (work, options) => {
        if (!disk.isFull) return target.change(work, options)
        disk.refused += 1
        throw new Failure("storage_full", "The disk is full")
      }
      return change
    },
  })
  return { disk, store: whole }
}

test("a stop works although the database is full: the caller gets 507, and the end with its requester is written later", async () => {
  await using fixture = await RunsFixture.open()
  const { disk, store } = filled(fixture.store)
  const requests: unknown[] = []
  const events = {
    requested: async (_: unknown, { actor, verb, run }: { actor: Actor; verb: string; run: RunRow }) =>
      void requests.push([actor, verb, run.id]),
  }
  await using runs = await fixture.runs({ store, events })
  const { id } = await runs.start(fixture.request("fake/http"))
  const other = await runs.start(fixture.request("fake/http", { person: 1 }))
  for (const each of [id, other.id]) await runs.waitUntilSettled(each)
  disk.isFull = true
  const actor: Actor = { userId: fixture.users[0] ?? 0, userName: "person0", address: "", requestId: "" } as Actor
  await assert.rejects(runs.stop(id, { by: "stopped_by_user", actor }), (error) => {
    assert.ok(error instanceof Failure && error.code === "storage_full" && /was stopped/.test(error.message), String(error))
    return true
  })
  assert.deepEqual(fixture.containerKeys(), [other.key], "the engine holds nothing of it")
  assert.equal((await fixture.row(id)).state, "ready")
  disk.isFull = false
  await eventually("the run's end is written", async () => (await fixture.row(id)).state === "ended")
  assert.equal((await fixture.row(id)).reason?.code, "stopped_by_user")
  assert.deepEqual(requests, [[actor, "stop", id]])
  assert.equal((await fixture.row(other.id)).state, "ready")
})

test("a run that fills the disk ends although the database is full, and its cause and output are written later", async () => {
  await using logs = await mkdtempDisposable(join(tmpdir(), "quayside-logs-"))
  await using fixture = await RunsFixture.open({ settings: { sampleEveryMs: 10, layersEveryMs: 0, logsDir: logs.path } })
  await fixture.store.change((tx) => tx.users.update(fixture.users[0] ?? 0, { limits: { ...unsetLimits, MaxDisk: 120 } }))
  const { disk, store } = filled(fixture.store)
  await using runs = await fixture.runs({ store })
  const { id, key } = await runs.start(fixture.request("fake/writes:100"))
  const other = await runs.start(fixture.request("fake/http", { person: 1 }))
  for (const each of [id, other.id]) await runs.waitUntilSettled(each)
  const container = fixture.fake.containers.get(key)
  assert.ok(container)
  disk.isFull = true
  container.spec = { ...container.spec, image: "fake/writes:200" }
  await eventually("the engine has no container of the run", () => !fixture.containerKeys().includes(key))
  assert.equal((await fixture.row(id)).state, "ready")
  await eventually("the container is observed to be gone", () => runs.target(id)?.address === undefined)
  const { refused } = disk
  await eventually("the run's end is rejected again", () => disk.refused >= refused + 4)
  disk.isFull = false
  await eventually("the run's end is written", async () => (await fixture.row(id)).state === "ended")
  const ended = await fixture.row(id)
  assert.equal(ended.reason?.code, "disk_full")
  assert.match((await Array.fromAsync(runs.logs(ended)))[0]?.text ?? "", /started/)
  assert.equal((await fixture.row(other.id)).state, "ready")
})

test("an exited program's container is removed although the database is full", async () => {
  await using fixture = await RunsFixture.open()
  const { disk, store } = filled(fixture.store)
  await using runs = await fixture.runs({ store })
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  disk.isFull = true
  await fixture.fake.exit(key, 3)
  await eventually("the engine has no container of the run", () => fixture.containerKeys().length === 0)
  disk.isFull = false
  await eventually("the run's end is written", async () => (await fixture.row(id)).state === "ended")
  const { reason } = await fixture.row(id)
  assert.deepEqual([reason?.code, reason?.exitCode], ["exited", 3])
})

test("a stop that database and engine both reject fails with the engine's error and has no later effect", async () => {
  await using fixture = await RunsFixture.open()
  const { disk, store } = filled(fixture.store)
  await using runs = await fixture.runs({ store })
  const { id, key } = await runs.start(fixture.request("fake/http"))
  await runs.waitUntilSettled(id)
  disk.isFull = true
  fixture.fake.reachable = false
  await assert.rejects(runs.stop(id, { by: "stopped_by_user" }), (error) => error instanceof Failure && error.code === "engine_unreachable")
  fixture.fake.reachable = true
  disk.isFull = false
  assert.equal((await fixture.row(id)).state, "ready")
  await fixture.fake.exit(key, 3)
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
  assert.equal((await fixture.row(id)).reason?.code, "exited")
})

test("a database that rejects some changes delays a run and loses nothing", async () => {
  await using fixture = await RunsFixture.open()
  await using runs = await fixture.runs({ store: unreliable(fixture.store) })
  let started = await runs.start(fixture.request("fake/http")).catch(() => undefined)
  while (!started) started = await runs.start(fixture.request("fake/http")).catch(() => undefined)
  const { id } = started
  assert.equal((await runs.waitUntilSettled(id)).state, "ready")
  assert.deepEqual(fixture.statesOf(id), ["pulling", "creating", "starting", "ready"])
  while ((await fixture.row(id)).state === "ready") await runs.stop(id, { by: "stopped_by_user" }).catch(() => {})
  await eventually("the run has ended", async () => (await fixture.row(id)).state === "ended")
  assert.deepEqual(fixture.containerKeys(), [])
})
