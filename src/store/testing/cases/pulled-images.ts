import assert from "node:assert/strict"
import type { Case } from "./case.ts"

export const pulledImageCases: Record<string, Case> = {
  "an image that was there before is not recorded as pulled": async ({ open, clock }) => {
    await using store = await open()
    const record = (reference: string, digest: string, isNew: boolean, owner = "ann") =>
      store.change((tx) => tx.pulledImages.record({ reference, digest, isNew, owner }))
    assert.equal(await record("a:1", "theirs", false), false)
    assert.equal(await record("b:1", "ours", true), true)
    assert.equal(await record("b:2", "ours", false), true, "another name of a recorded one")
    assert.equal(await record("b:1", "newer", true), true)
    assert.equal(await record("b:1", "ours", false, "bob"), true)
    const at = { fetchedAt: clock.now(), usedAt: clock.now(), fetchedFor: "ann" }
    assert.deepEqual(await store.pulledImages.all(), [
      { reference: "b:1", digest: "newer", ...at },
      { reference: "b:1", digest: "ours", ...at },
      { reference: "b:2", digest: "ours", ...at },
    ])
  },

  "only a later use of a pulled image counts, until it is forgotten": async ({ open, clock }) => {
    await using store = await open()
    await store.change((tx) => tx.pulledImages.record({ reference: "a:1", digest: "a", isNew: true, owner: "" }))
    const usedAt = async () => (await store.pulledImages.all()).map((row) => row.usedAt)
    await store.change((tx) => tx.pulledImages.recordUse("a", clock.now() + 5))
    await store.change((tx) => tx.pulledImages.recordUse("a", clock.now() + 3))
    await store.change((tx) => tx.pulledImages.recordUse("b", clock.now() + 9))
    assert.deepEqual(await usedAt(), [clock.now() + 5])
    await store.change((tx) => tx.pulledImages.forget("a"))
    assert.deepEqual(await usedAt(), [])
  },
}
