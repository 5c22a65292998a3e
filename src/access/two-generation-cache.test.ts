import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { TwoGenerationCache } from "./two-generation-cache.ts"

describe("a map of two generations", () => {
  it("has at most twice its size of entries, and never evicts those in use", () => {
    const map = new TwoGenerationCache<number>(10)
    map.set("kept", 1)
    for (let i = 0; i < 1000; i += 1) {
      map.set(`k${i}`, i)
      assert.equal(map.get("kept"), 1)
      assert.ok(map.size <= 20, String(map.size))
    }
    assert.equal(map.get("k1"), undefined)
    assert.equal(map.get("k999"), 999)
  })

  it("deletes in both generations", () => {
    const map = new TwoGenerationCache<number>(2)
    for (let i = 0; i < 4; i += 1) map.set(`k${i}`, i)
    map.delete("k0")
    map.delete("k3")
    assert.deepEqual(
      ["k0", "k1", "k2", "k3"].map((key) => map.get(key)),
      [undefined, 1, 2, undefined],
    )
    map.clear()
    assert.equal(map.size, 0)
  })
})
