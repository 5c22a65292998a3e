import assert from "node:assert/strict"
import { test } from "node:test"
import type { Store } from "#store"
import { eventually, TestWorld } from "./testing/world.ts"

/** The same store, of which every second change is refused as by a full disk. */
function unreliable(store: Store): Store {
  let n = 0
  return new Proxy(store, {
    get(target, name) {
      if (name !== "change") {
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === "function" ? member.bind(target) : member
      }
      return (work: Parameters<Store["change"]>[0]) => {
        n += 1
        return n % 2 === 0 ? Promise.reject(new Error("the disk is full")) : target.change(work)
      }
    },
  })
}

test("A database that refuses changes now and then delays a run and loses nothing", async () => {
  await using world = await TestWorld.open()
  await using runs = await world.runs({ store: unreliable(world.store) })
  const { id } = await runs.start(world.request("fake/http"))
  assert.equal((await runs.settled(id)).state, "ready")
  assert.deepEqual(world.path(id), ["pulling", "creating", "starting", "ready"])
  while ((await world.row(id)).state === "ready") await runs.stop(id, { by: "stopped_by_user" }).catch(() => {})
  await eventually("it is over", async () => (await world.row(id)).state === "ended")
  assert.deepEqual(world.held(), [])
})
