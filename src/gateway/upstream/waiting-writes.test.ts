import assert from "node:assert/strict"
import { Writable } from "node:stream"
import { test } from "node:test"
import { WaitingWrites } from "./waiting-writes.ts"

test("few writes wait in a stream, however short they are, and the next ones are asked for when they are passed on", () => {
  const passedOn: (() => void)[] = []
  const stream = new Writable({ write: (_chunk, _encoding, done) => void passedOn.push(done) })
  const writes = new WaitingWrites()
  let rooms = 0
  let count = 1
  while (count < 1_000 && writes.write(stream, "x", () => (rooms += 1))) count += 1
  assert.ok(count < 100, `${count} writes`)
  assert.equal(rooms, 0)
  for (let next = passedOn.shift(); next; next = passedOn.shift()) next()
  return new Promise<void>((resolve) =>
    setImmediate(() => {
      assert.equal(rooms, 1)
      assert.equal(
        writes.write(stream, "x", () => {}),
        true,
      )
      resolve()
    }),
  )
})
