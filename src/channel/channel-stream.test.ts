import assert from "node:assert/strict"
import { test } from "node:test"
import { bounds } from "#contract"
import { ChannelStream, frameCost } from "./channel-stream.ts"

test("chunks that wait are not moved each time one of them is read", async (t) => {
  const stream = new ChannelStream(1, { send: () => {}, allocate: () => undefined, schedule: () => {}, forget: () => {} })
  stream.widenWindow(bounds.control.wideWindowBytes.value)
  const count = Math.floor(bounds.control.wideWindowBytes.value / (1 + frameCost))
  for (let i = 0; i < count; i += 1) assert.ok(stream.receiveData(0, Buffer.of(i & 255)))
  let moved = 0
  for (const name of ["shift", "splice"] as const) {
    const original = Array.prototype[name] as (...args: unknown[]) => unknown
    const replace = (value: unknown) => Object.defineProperty(Array.prototype, name, { value })
    t.after(() => replace(original))
    replace(function (this: unknown[], ...args: unknown[]) {
      moved += this.length
      return original.apply(this, args)
    })
  }
  for (let i = 0; i < count; i += 1) assert.equal((await stream.read())?.data[0], i & 255)
  assert.ok(moved <= 2 * count, `${moved} moves for ${count} chunks`)
})
