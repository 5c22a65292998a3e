import assert from "node:assert/strict"
import { test } from "node:test"
import { bounds } from "#contract"
import { type PullEvent, PullProgress } from "./pull-progress.ts"

test("a pull's progress is the sum over its layers", () => {
  const progress = new PullProgress("r")
  assert.equal(progress.add({ status: "Pulling fs layer", id: "a" }), undefined)
  assert.deepEqual(progress.add(downloading("a", 10, 100)), { step: "downloading", current: 10, total: 100, unit: "bytes" })
  assert.deepEqual(progress.add(downloading("b", 5, 50)), { step: "downloading", current: 15, total: 150, unit: "bytes" })
  assert.equal(progress.add({ status: "Download complete", id: "b" })?.current, 60)
})

test("a layer that is fetched again does not lower the progress", () => {
  const progress = new PullProgress("r")
  progress.add(downloading("a", 90, 100))
  assert.equal(progress.add(downloading("a", 10, 100)), undefined)
  assert.equal(progress.add(downloading("a", 95, 100))?.current, 95)
})

test("unpacking is reported while bytes move, and counts no byte twice", () => {
  const progress = new PullProgress("r")
  progress.add(downloading("a", 100, 100))
  const extracting = (current: number) => progress.add({ status: "Extracting", id: "a", progressDetail: { current, total: 100 } })
  assert.deepEqual(extracting(30), { step: "extracting", current: 100, total: 100, unit: "bytes" })
  assert.equal(extracting(30), undefined)
})

test("local layers and events without a layer do not change the progress", () => {
  const progress = new PullProgress("r")
  assert.equal(progress.add({ status: "Already exists", id: "a" }), undefined)
  assert.equal(progress.add({ status: "Digest: sha256:12" }), undefined)
})

test("a pull of more layers than an image may have is rejected as soon as they are announced", () => {
  const progress = new PullProgress("r")
  progress.add({ status: "Pulling from library/many", id: "latest" })
  const max = bounds.containers.imageLayers.value
  const announce = (i: number) => progress.add({ status: "Pulling fs layer", id: `layer ${i}` })
  for (let i = 0; i < max; i += 1) announce(i)
  announce(0)
  assert.throws(() => announce(max), { code: "image_unavailable" })
})

function downloading(id: string, current: number, total: number): PullEvent {
  return { status: "Downloading", id, progressDetail: { current, total } }
}
