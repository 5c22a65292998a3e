import assert from "node:assert/strict"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { raiseNeighbourLimits } from "./neighbour-limits.ts"

test("the kernel's table of neighbours gets room for thousands of runs, and keeps a larger limit", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quayside-neighbours-"))
  try {
    const read = () => ["gc_thresh2", "gc_thresh3"].map((name) => Number(readFileSync(join(folder, name), "utf8")))
    for (const [before, after] of [
      [
        [512, 1_024],
        [32_768, 65_536],
      ],
      [
        [40_000, 80_000],
        [40_000, 80_000],
      ],
    ] as const) {
      for (const [n, value] of before.entries()) writeFileSync(join(folder, `gc_thresh${n + 2}`), `${value}\n`)
      await raiseNeighbourLimits(folder)
      assert.deepEqual(read(), after)
    }
    await assert.rejects(raiseNeighbourLimits(join(folder, "missing")))
  } finally {
    rmSync(folder, { recursive: true })
  }
})
