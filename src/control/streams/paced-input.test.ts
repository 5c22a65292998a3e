import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { Multiplexer } from "#channel"
import { Yielder } from "#kit"
import { pacedInput } from "./paced-input.ts"

test("the chunks that a client sent come in slices of its person's time", async (t) => {
  const transport = { send: () => {}, isCongested: false, close: () => {} }
  const stream = new Multiplexer({ transport, side: "server" }).open("shell")
  for (let i = 0; i < 3; i += 1) stream.receiveData(0, Buffer.of(i))
  stream.receiveEnd()
  let nextSlice = () => {}
  t.mock.method(Yielder.prototype, "pause", () => new Promise<void>((resolve) => (nextSlice = resolve)))
  const taken: number[] = []
  const ended = (async () => {
    for await (const [byte = -1] of pacedInput(stream, 7)) taken.push(byte)
  })()
  for (const expected of [[0], [0, 1], [0, 1, 2]]) {
    await setImmediate()
    assert.deepEqual(taken, expected)
    nextSlice()
  }
  await ended
})
