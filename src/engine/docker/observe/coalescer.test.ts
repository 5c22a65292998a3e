import assert from "node:assert/strict"
import { test } from "node:test"
import { Coalescer } from "./coalescer.ts"

function counted() {
  const started: PromiseWithResolvers<number>[] = []
  const coalescer = new Coalescer(() => {
    const work = Promise.withResolvers<number>()
    started.push(work)
    return work.promise
  })
  return { started, coalescer }
}

test("calls during a run share the next one, which begins after it", async () => {
  const { started, coalescer } = counted()
  const first = coalescer.run()
  const others = Array.from({ length: 200 }, () => coalescer.run())
  assert.equal(started.length, 1)
  started[0]?.resolve(1)
  assert.equal(await first, 1)
  assert.equal(started.length, 2)
  started[1]?.resolve(2)
  assert.deepEqual(new Set(await Promise.all(others)), new Set([2]))
  await coalescer.whenIdle()
  assert.equal(started.length, 2)
})

test("calls during a failing run get a new one", async () => {
  const { started, coalescer } = counted()
  const first = coalescer.run()
  const second = coalescer.run()
  started[0]?.reject(new Error("no answer"))
  await assert.rejects(first, /no answer/)
  started[1]?.resolve(2)
  assert.equal(await second, 2)
})
