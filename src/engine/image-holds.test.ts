import assert from "node:assert/strict"
import { test } from "node:test"
import { ImageHolds } from "./image-holds.ts"

const removed = async () => "removed"

test("an image cannot be removed while any start holds it", async () => {
  const holds = new ImageHolds()
  const first = await holds.find(async () => ({ digest: "a" }))
  const second = await holds.find(async () => ({ digest: "a" }))
  first[Symbol.dispose]()
  assert.equal(await holds.remove("a", removed), undefined)
  assert.equal(await holds.remove("b", removed), "removed")
  second[Symbol.dispose]()
  assert.equal(await holds.remove("a", removed), "removed")
})

test("a start searches again when a removal began during its search", async () => {
  const holds = new ImageHolds()
  const [searching, removing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let searches = 0
  const found = holds.find(async () => {
    searches += 1
    if (searches === 1) await searching.promise
    return { digest: `found by search ${searches}` }
  })
  const removal = holds.remove("a", () => removing.promise)
  searching.resolve()
  removing.resolve()
  await removal
  assert.equal((await found).image.digest, "found by search 2")
})

test("a start searches only when no image is being removed, also when several pulls remove some", async () => {
  const holds = new ImageHolds()
  const ends: (() => void)[] = []
  const remove = (digest: string) => holds.remove(digest, () => new Promise<void>((resolve) => ends.push(resolve)))
  const removals = ["a", "b", "c"].map(remove)
  const begun = async () => {
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
    return ends.length
  }
  assert.equal(await begun(), 1)
  let searches = 0
  const found = holds.find(async () => {
    searches += 1
    return { digest: `found by search ${searches}` }
  })
  for (const count of [1, 2, 3]) {
    assert.deepEqual([await begun(), searches], [count, 0])
    ends[count - 1]?.()
  }
  await Promise.all(removals)
  assert.equal((await found).image.digest, "found by search 1")
})
