import assert from "node:assert/strict"
import { test } from "node:test"
import type { Store } from "#store"
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
