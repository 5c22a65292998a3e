import assert from "node:assert/strict"
import { test } from "node:test"
import { Signer } from "./signing.ts"

const key = Buffer.alloc(32, 1)

test("a signed value verifies only with the same key and purpose", () => {
  const signed = new Signer(key, "ticket").sign(["a", 1, null])
  assert.deepEqual(new Signer(key, "ticket").verify(signed), ["a", 1, null])
  assert.equal(new Signer(key, "session").verify(signed), undefined)
  assert.equal(new Signer(Buffer.alloc(32, 2), "ticket").verify(signed), undefined)
})

test("a changed text does not verify", () => {
  const signer = new Signer(key, "ticket")
  const signed = signer.sign({ a: "some text" })
  for (let at = 0; at < signed.length - 1; at += 1) {
    const other = signed[at] === "A" ? "B" : "A"
    assert.equal(signer.verify(signed.slice(0, at) + other + signed.slice(at + 1)), undefined, String(at))
  }
  for (const bad of ["", ".", `${signed}.`, `${signed}=`, signed.slice(1), ` ${signed}`]) assert.equal(signer.verify(bad), undefined, bad)
})

test("a short key throws", () => {
  assert.throws(() => new Signer(Buffer.alloc(31), "ticket"), /at least 32 bytes; got 31/)
})
