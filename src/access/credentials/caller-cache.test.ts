import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { bounds } from "#contract"
import { ManualClock } from "#kit"
import type { Caller } from "../caller.ts"
import { CallerCache } from "./caller-cache.ts"
import type { LoadedCaller } from "./load-caller.ts"

const caller: Caller = {
  userId: 1,
  userName: "ann",
  isAdmin: false,
  groupIds: [],
  groupNames: [],
  scopes: ["read", "write"],
  credential: { kind: "password", id: "password:x" },
}
const loaded: LoadedCaller = { caller, validUntil: Number.POSITIVE_INFINITY }

describe("cached callers", () => {
  it("expire after the maximum age, or earlier if the load asks for it", async () => {
    const clock = new ManualClock()
    const callers = new CallerCache(clock, () => 10_000)
    await callers.load("fresh", async () => loaded)
    await callers.load("short", async () => loaded, 2_000)
    await callers.load("ends", async () => ({ ...loaded, validUntil: clock.now() + 5_000 }))
    const remaining = () => ["fresh", "short", "ends"].filter((key) => callers.get(key) !== undefined)
    await clock.advance(1_999)
    assert.deepEqual(remaining(), ["fresh", "short", "ends"])
    await clock.advance(1)
    assert.deepEqual(remaining(), ["fresh", "ends"])
    await clock.advance(3_000)
    assert.deepEqual(remaining(), ["fresh"])
    await clock.advance(5_000)
    assert.deepEqual(remaining(), [])
  })

  it("are not cached if they were read before an invalidation", async () => {
    for (const forget of [(all: CallerCache) => all.invalidate(new Set([1])), (all: CallerCache) => all.invalidateAll()]) {
      const callers = new CallerCache(new ManualClock(), () => 10_000)
      const reading = Promise.withResolvers<LoadedCaller>()
      const answer = callers.load("key", () => reading.promise)
      forget(callers)
      reading.resolve(loaded)
      assert.equal((await answer)?.caller, caller)
      assert.equal(callers.get("key"), undefined)
    }
  })

  it("are invalidated by person", async () => {
    const callers = new CallerCache(new ManualClock(), () => 10_000)
    await callers.load("ann", async () => loaded)
    await callers.load("bob", async () => ({ ...loaded, caller: { ...caller, userId: 2 } }))
    callers.invalidate(new Set([1, 3]))
    assert.deepEqual([callers.get("ann"), callers.get("bob")?.caller.userId], [undefined, 2])
    await callers.load("ann", async () => loaded)
    assert.equal(callers.get("ann")?.caller.userId, 1)
  })

  it("stay invalid after invalidations of any number of people", async () => {
    const callers = new CallerCache(new ManualClock(), () => 10_000)
    await callers.load("ann", async () => loaded)
    for (let userId = 1; userId <= bounds.accounts.rememberedProofs.value + 1; userId += 1) callers.invalidate(new Set([userId]))
    assert.equal(callers.get("ann"), undefined)
    await callers.load("ann", async () => loaded)
    assert.equal(callers.get("ann")?.caller.userId, 1)
  })
})
