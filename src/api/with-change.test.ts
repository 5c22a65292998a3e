import assert from "node:assert/strict"
import { test } from "node:test"
import type { Caller } from "#access"
import { bounds } from "#contract"
import { PersonLimiter } from "#http"
import { createIdentityFixture } from "../../test/fixtures/identity.ts"
import type { Services } from "./context.ts"
import { withFairChanges } from "./with-change.ts"

test("a person's change is made after few of another's, however many of those were requested before", async () => {
  await using fixture = await createIdentityFixture()
  const { store } = fixture
  const callerOf = (userId: number) => ({ userId, groupIds: [] as number[], credential: { id: "" } }) as unknown as Caller
  const identity = { isInvalidatedSince: () => false }
  const limiter = new PersonLimiter({ maxRunning: bounds.rates.changes.value, maxWaiting: 100, message: String })
  const storeOf = (userId: number) =>
    withFairChanges({ store, identity } as unknown as Services, {
      caller: callerOf(userId),
      lane: userId,
      invalidations: 0,
      changes: limiter,
    }).store
  const gate = Promise.withResolvers<void>()
  const made: string[] = []
  const first = store.change(() => gate.promise)
  const change = (userId: number, name: string) => storeOf(userId).change(async () => void made.push(name))
  const all = Array.from({ length: 20 }, () => change(1, "ann"))
  all.push(change(2, "bob"))
  gate.resolve()
  await Promise.all([first, ...all])
  assert.equal(made.length, 21)
  assert.equal(made.indexOf("bob"), bounds.rates.changes.value)
})

test("the caller of a change is read again when that was long ago, since other processes change rights", async (t) => {
  const caller = { userId: 1, credential: { id: "" } } as unknown as Caller
  let count = 0
  const identity = {
    invalidations: () => 0,
    isInvalidatedSince: () => false,
    refreshCaller: async () => {
      count += 1
      return { ...caller, groupIds: [7] }
    },
  }
  const store = { change: async (work: () => unknown) => work() }
  const changes = new PersonLimiter({ maxRunning: 1, maxWaiting: 1, message: String })
  const services = withFairChanges({ store, identity } as unknown as Services, { caller, lane: 1, invalidations: 0, changes })
  await services.store.change(async () => {})
  assert.equal(count, 0)
  const later = performance.now() + 10_000
  t.mock.method(performance, "now", () => later)
  await services.store.change(async () => assert.deepEqual(caller.groupIds, [7]))
  assert.equal(count, 1)
})
