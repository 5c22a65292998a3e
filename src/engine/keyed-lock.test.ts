import assert from "node:assert/strict"
import { test } from "node:test"
import { EngineError } from "./engine.ts"
import { KeyedLock } from "./keyed-lock.ts"

const never = new AbortController().signal

test("starts and stops of one key run one at a time, in the order of their calls", async () => {
  const lock = new KeyedLock()
  const order: string[] = []
  const work = (name: string) => async () => {
    order.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    order.push(`${name} ends`)
  }
  await Promise.all([
    lock.runAbortable("a", never, work("one")),
    lock.runAbortable("a", never, work("two")),
    lock.runAbortable("b", never, work("other")),
  ])
  assert.deepEqual(
    order.filter((line) => !line.startsWith("other")),
    ["one begins", "one ends", "two begins", "two ends"],
  )
  assert.ok(order.indexOf("other begins") < order.indexOf("one ends"))
  assert.equal(lock.isLocked("a"), false)
})

test("`runIfFree` skips a locked key, and locks a free one", async () => {
  const lock = new KeyedLock()
  const order: string[] = []
  const work = (name: string) => async () => {
    await new Promise((resolve) => setImmediate(resolve))
    order.push(name)
  }
  const first = lock.runIfFree("a", work("first"))
  await lock.runIfFree("a", work("second"))
  await lock.runAbortable("a", never, work("start"))
  await first
  assert.deepEqual(order, ["first", "start"])
})

test("a stop aborts earlier starts and waits for their cleanup", async () => {
  const lock = new KeyedLock()
  const order: string[] = []
  const start = lock.runAbortable("a", never, async (signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve))
    await new Promise((resolve) => setImmediate(resolve))
    order.push("cleaned up")
    throw signal.reason
  })
  const failed = assert.rejects(start, EngineError)
  await new Promise((resolve) => setImmediate(resolve))
  await lock.abortAndRun("a", undefined, async () => void order.push("stopped"))
  await failed
  assert.deepEqual(order, ["cleaned up", "stopped"])
})

test("a stop does not abort later starts", async () => {
  const lock = new KeyedLock()
  const stop = lock.abortAndRun("a", undefined, async () => {})
  const start = lock.runAbortable("a", never, async (signal) => signal.aborted)
  await stop
  assert.equal(await start, false)
})

test("an aborted start rejects at once, and its work never runs", async () => {
  const lock = new KeyedLock()
  let release = () => {}
  const first = lock.runAbortable("a", never, () => new Promise<void>((resolve) => (release = resolve)))
  const controller = new AbortController()
  const ran: string[] = []
  const second = lock.runAbortable("a", controller.signal, async () => void ran.push("second"))
  controller.abort(new Error("enough"))
  await assert.rejects(second, /enough/)
  release()
  await first
  await lock.abortAndRun("a", undefined, async () => {})
  assert.deepEqual(ran, [])
})

test("a failed start does not block the next one", async () => {
  const lock = new KeyedLock()
  await assert.rejects(
    lock.runAbortable("a", never, async () => Promise.reject(new Error("no"))),
    /no/,
  )
  assert.equal(await lock.runAbortable("a", never, async () => 1), 1)
})
