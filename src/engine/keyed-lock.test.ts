import assert from "node:assert/strict"
import { test } from "node:test"
import { EngineError } from "./engine.ts"
import { Turns } from "./keyed-lock.ts"

const never = new AbortController().signal

test("starts and stops of one key run one after the other in the order of their calls", async () => {
  const turns = new Turns()
  const said: string[] = []
  const work = (name: string) => async () => {
    said.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    said.push(`${name} ends`)
  }
  await Promise.all([turns.start("a", never, work("one")), turns.start("a", never, work("two")), turns.start("b", never, work("other"))])
  assert.deepEqual(
    said.filter((line) => !line.startsWith("other")),
    ["one begins", "one ends", "two begins", "two ends"],
  )
  assert.ok(said.indexOf("other begins") < said.indexOf("one ends"))
  assert.equal(turns.has("a"), false)
})

test("what is for a free key alone is left out when it is not free, and is waited for by whoever comes next", async () => {
  const turns = new Turns()
  const said: string[] = []
  const work = (name: string) => async () => {
    await new Promise((resolve) => setImmediate(resolve))
    said.push(name)
  }
  const first = turns.ifFree("a", work("first"))
  await turns.ifFree("a", work("second"))
  await turns.start("a", never, work("start"))
  await first
  assert.deepEqual(said, ["first", "start"])
})

test("a stop aborts the starts before it and waits until they have cleaned up", async () => {
  const turns = new Turns()
  const said: string[] = []
  const start = turns.start("a", never, async (signal) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve))
    await new Promise((resolve) => setImmediate(resolve))
    said.push("cleaned up")
    throw signal.reason
  })
  const failed = assert.rejects(start, EngineError)
  await new Promise((resolve) => setImmediate(resolve))
  await turns.stop("a", undefined, async () => void said.push("stopped"))
  await failed
  assert.deepEqual(said, ["cleaned up", "stopped"])
})

test("a stop does not abort the starts after it", async () => {
  const turns = new Turns()
  const stop = turns.stop("a", undefined, async () => {})
  const start = turns.start("a", never, async (signal) => signal.aborted)
  await stop
  assert.equal(await start, false)
})

test("an aborted start does not wait for the one ahead, nor is its work ever run", async () => {
  const turns = new Turns()
  let release = () => {}
  const first = turns.start("a", never, () => new Promise<void>((resolve) => (release = resolve)))
  const controller = new AbortController()
  const ran: string[] = []
  const second = turns.start("a", controller.signal, async () => void ran.push("second"))
  controller.abort(new Error("enough"))
  await assert.rejects(second, /enough/)
  release()
  await first
  await turns.stop("a", undefined, async () => {})
  assert.deepEqual(ran, [])
})

test("a failed start does not hold up the next one", async () => {
  const turns = new Turns()
  await assert.rejects(
    turns.start("a", never, async () => Promise.reject(new Error("no"))),
    /no/,
  )
  assert.equal(await turns.start("a", never, async () => 1), 1)
})
