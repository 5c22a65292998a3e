import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { directorySizes, entryCounts } from "./directory-sizes.ts"

test("more directories are counted than fit into one command line", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quayside-volumes-"))
  try {
    const there = ["first", "last"].map((name) => join(folder, name))
    for (const path of there) {
      mkdirSync(path)
      writeFileSync(join(path, "f"), Buffer.alloc(100_000))
    }
    const [first = "", last = ""] = there
    const absent = Array.from({ length: 40_000 }, (_, n) => join(folder, `${n}-${"0".repeat(64)}/_data`))
    const sizes = await directorySizes([first, ...absent, last], { timeoutMs: 120_000 })
    assert.deepEqual([...sizes.keys()], there)
    for (const bytes of sizes.values()) assert.ok(bytes >= 100_000)
    const counts = await entryCounts([first, ...absent, last], { timeoutMs: 120_000 })
    assert.deepEqual(
      [...counts],
      there.map((path) => [path, 1]),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})
