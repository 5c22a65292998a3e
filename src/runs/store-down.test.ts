import assert from "node:assert/strict"
import { test } from "node:test"
import { Failure } from "#contract"
import type { Actor } from "#events"
import type { RunRow, Store } from "#store"
import { dice } from "./testing/dice.ts"
import { eventually, TestWorld } from "./testing/world.ts"

/** The same store, of which about half of the changes are refused as by a full disk. */
function unreliable(store: Store): Store {
  const random = dice(7)
  return new Proxy(store, {
    get(target, name) {
      if (name !== "change") {
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === "function" ? member.bind(target) : member
      }
      return (work: Parameters<Store["change"]>[0]) => {
        return random() < 0.5 ? Promise.reject(new Error("the disk is full")) : target.change(work)
      }
    },
  })
}

test("A run that is gone has no address any more, although the database refuses to note its end", async () => {
  await using world = await TestWorld.open()
  let refuses = false
  const store = new Proxy(world.store, {
    get(target, name) {
      if (name === "change" && refuses) return () => Promise.reject(new Error("the disk is full"))
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === "function" ? member.bind(target) : member
    },
  })
  await using runs = await world.runs({ store })
  const { id, key } = await runs.start(world.request("fake/http"))
  assert.equal((await runs.settled(id)).state, "ready")
  assert.ok(runs.target(id)?.address)
  refuses = true
  await world.fake.exit(key, 1)
  await eventually("nobody is led there", () => runs.target(id)?.address === undefined)
  assert.equal(runs.target(id)?.state, "ready")
  refuses = false
  await eventually("it is over", async () => (await world.row(id)).state === "ended")
})

/** The same store, whose disk is full while it is told so, for what is urgent as well. */
function filled(store: Store) {
  const disk = { isFull: false }
  const whole = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (name !== "change") return typeof member === "function" ? member.bind(target) : member
      const change: Store["change"] = (work, options) =>
        disk.isFull ? Promise.reject(new Failure("storage_full", "The disk is full")) : target.change(work, options)
      return change
    },
  })
  return { disk, store: whole }
}

test("A run is stopped although the database can write nothing at all, which is told, and its end is written with who wanted it when there is room", async () => {
  await using world = await TestWorld.open()
  const { disk, store } = filled(world.store)
  const asked: unknown[] = []
  const events = {
    asked: async (_: unknown, { actor, verb, run }: { actor: Actor; verb: string; run: RunRow }) => void asked.push([actor, verb, run.id]),
  }
  await using runs = await world.runs({ store, events })
  const { id } = await runs.start(world.request("fake/http"))
  const other = await runs.start(world.request("fake/http", { person: 1 }))
  for (const each of [id, other.id]) await runs.settled(each)
  disk.isFull = true
  const actor: Actor = { userId: world.users[0] ?? 0, userName: "person0", address: "", requestId: "" } as Actor
  await assert.rejects(runs.stop(id, { by: "stopped_by_user", actor }), (error) => {
    assert.ok(error instanceof Failure && error.code === "storage_full" && /was stopped/.test(error.message), String(error))
    return true
  })
  assert.deepEqual(world.held(), [other.key], "the engine holds nothing of it")
  assert.equal((await world.row(id)).state, "ready")
  disk.isFull = false
  await eventually("its end is written", async () => (await world.row(id)).state === "ended")
  assert.equal((await world.row(id)).reason?.code, "stopped_by_user")
  assert.deepEqual(asked, [[actor, "stop", id]])
  assert.equal((await world.row(other.id)).state, "ready")
})

test("A stop that neither database nor engine can take is refused as the engine's, and ends nothing later", async () => {
  await using world = await TestWorld.open()
  const { disk, store } = filled(world.store)
  await using runs = await world.runs({ store })
  const { id, key } = await runs.start(world.request("fake/http"))
  await runs.settled(id)
  disk.isFull = true
  world.fake.reachable = false
  await assert.rejects(runs.stop(id, { by: "stopped_by_user" }), (error) => error instanceof Failure && error.code === "engine_unreachable")
  world.fake.reachable = true
  disk.isFull = false
  assert.equal((await world.row(id)).state, "ready")
  await world.fake.exit(key, 3)
  await eventually("it is over", async () => (await world.row(id)).state === "ended")
  assert.equal((await world.row(id)).reason?.code, "exited")
})

test("A database that refuses changes now and then delays a run and loses nothing", async () => {
  await using world = await TestWorld.open()
  await using runs = await world.runs({ store: unreliable(world.store) })
  let started = await runs.start(world.request("fake/http")).catch(() => undefined)
  while (!started) started = await runs.start(world.request("fake/http")).catch(() => undefined)
  const { id } = started
  assert.equal((await runs.settled(id)).state, "ready")
  assert.deepEqual(world.path(id), ["pulling", "creating", "starting", "ready"])
  while ((await world.row(id)).state === "ready") await runs.stop(id, { by: "stopped_by_user" }).catch(() => {})
  await eventually("it is over", async () => (await world.row(id)).state === "ended")
  assert.deepEqual(world.held(), [])
})
