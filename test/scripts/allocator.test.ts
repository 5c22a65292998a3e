import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { test } from "node:test"

const places = ["script/lib/quayside.sh", "Dockerfile", "docs/how-to/install.md"]

test("script/start, the container image and the system service give memory back to the system alike", async () => {
  const settings = await Promise.all(
    places.map(async (name) => (await readFile(new URL(`../../${name}`, import.meta.url), "utf8")).match(/\bMALLOC_[A-Z_]+=\d+/g)),
  )
  assert.deepEqual(settings[0], ["MALLOC_ARENA_MAX=2", "MALLOC_MMAP_THRESHOLD_=1048576", "MALLOC_TRIM_THRESHOLD_=1048576"])
  for (const each of settings) assert.deepEqual(each, settings[0])
})
