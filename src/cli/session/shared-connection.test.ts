import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { Multiplexer } from "#channel"
import { SharedConnection } from "./shared-connection.ts"

function open(): Multiplexer {
  return new Multiplexer({ transport: { send: () => {}, isCongested: false, close: () => {} }, side: "client" })
}

test("ports that connect at once after a loss share one new connection, which ends with all", async () => {
  const opened: Multiplexer[] = []
  const run = {
    open: async () => {
      const connection = open()
      opened.push(connection)
      return connection
    },
  }
  const shared = new SharedConnection(run)
  const first = await shared.acquire()
  first.close(1000, "")
  const [second, third] = await Promise.all([shared.acquire(), shared.acquire()])
  assert.equal(second, third)
  assert.equal(await shared.acquire(), second)
  assert.equal(opened.length, 2)
  shared.close()
  await setImmediate()
  assert.deepEqual(
    opened.map(({ isClosed }) => isClosed),
    [true, true],
  )
})

test("a connection that failed is tried again, and none is left to close", async () => {
  let tries = 0
  const run = {
    open: async () => {
      tries += 1
      throw new Error("refused")
    },
  }
  const shared = new SharedConnection(run)
  for (let i = 0; i < 2; i += 1) await assert.rejects(shared.acquire(), /refused/)
  assert.equal(tries, 2)
  shared.close()
  await setImmediate()
})
