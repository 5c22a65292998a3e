import assert from "node:assert/strict"
import { test } from "node:test"
import { seededRandom } from "../../test/fixtures/random.ts"
import { ChunkBuffer, isMostlyTinyChunks } from "./chunk-buffer.ts"

test("chunks of all lengths are returned unchanged and in order", () => {
  const random = seededRandom(1)
  for (let round = 0; round < 200; round += 1) {
    const pieces = new ChunkBuffer()
    const sent: Buffer[] = []
    const received: Buffer[] = []
    for (let i = random.below(60); i > 0; i -= 1) {
      const piece = Buffer.alloc(random.below(random.pick([2, 100, 5_000, 70_000])), random.below(256))
      sent.push(Buffer.from(piece))
      pieces.add(piece)
      assert.equal(pieces.length, Buffer.concat(sent).length - Buffer.concat(received).length)
      if (random.once(10)) received.push(...pieces.take())
    }
    assert.deepEqual(Buffer.concat([...received, ...pieces.take()]), Buffer.concat(sent))
    assert.equal(pieces.length, 0)
  }
})

test("a million one-byte chunks are stored in few buffers, and a single chunk is not copied", () => {
  const pieces = new ChunkBuffer()
  const one = Buffer.from("x")
  for (let i = 0; i < 1_000_000; i += 1) pieces.add(one)
  const chunks = pieces.take()
  assert.ok(chunks.length < 30, `${chunks.length} buffers`)
  assert.equal(Buffer.concat(chunks).length, 1_000_000)
  pieces.add(one)
  assert.equal(pieces.take()[0], one)
})

test("isMostlyTinyChunks is true for many tiny chunks, not for few or for longer ones", () => {
  assert.equal(isMostlyTinyChunks({ count: 1_001, length: 16_000 }), true)
  assert.equal(isMostlyTinyChunks({ count: 1_000, length: 1_000 }), false)
  assert.equal(isMostlyTinyChunks({ count: 10_000, length: 160_000 }), false)
})
