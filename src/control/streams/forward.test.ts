import assert from "node:assert/strict"
import type { Socket } from "node:net"
import { Writable } from "node:stream"
import { test } from "node:test"
import { setImmediate } from "node:timers/promises"
import { Multiplexer } from "#channel"
import { relayToProgram } from "./forward.ts"

test("a program that does not read has one write that waits, however short the client's chunks are", async () => {
  const transport = { send: () => {}, isCongested: false, close: () => {} }
  const stream = new Multiplexer({ transport, side: "server" }).open("forward")
  let pending: (() => void) | undefined
  const written: number[] = []
  const socket = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk[0] ?? -1)
      pending = done
    },
  })
  const relayed = relayToProgram(stream, socket as Socket, 7)
  for (let i = 0; i < 200; i += 1) stream.receiveData(0, Buffer.of(i))
  for (let i = 0; i < 200; i += 1) await setImmediate()
  assert.equal(socket.writableLength, 1)
  stream.receiveEnd()
  while (pending) {
    const read = pending
    pending = undefined
    read()
    await setImmediate()
    await setImmediate()
  }
  await relayed
  assert.deepEqual(
    written,
    Array.from({ length: 200 }, (_, i) => i),
  )
})
