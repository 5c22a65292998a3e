import assert from "node:assert/strict"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { directorySizes, entryCounts } from "./directory-sizes.ts"

const limits = { timeoutMs: 120_000, ownerTimeoutMs: 120_000 }

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
    const all = [first, ...absent, last].map((path) => ({ path, owner: "ann" }))
    const sizes = await directorySizes(all, limits)
    assert.deepEqual([...sizes.keys()], there)
    for (const bytes of sizes.values()) assert.ok(bytes >= 100_000)
    const counts = await entryCounts(all, limits)
    assert.deepEqual(
      [...counts],
      there.map((path) => [path, 1]),
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test("directories of an owner whose time is over are infinite, and those of others are counted", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quayside-slow-"))
  try {
    const program = join(folder, "du")
    // In place of a directory whose names the kernel looks up slowly.
    writeFileSync(program, '#!/bin/sh\nfor path; do case $path in *slow) exec sleep 1000;; /*) du -s0 --inodes "$path";; esac; done')
    chmodSync(program, 0o755)
    const names = ["ann-fast", "bob-slow", "bob-fast", "cid-slow", "dan-fast"]
    for (const name of names) mkdirSync(join(folder, name))
    const absent = { path: join(folder, "absent"), owner: "bob" }
    const all = [absent, ...names.map((name) => ({ path: join(folder, name), owner: name.slice(0, 3) }))]
    const counts = await entryCounts(all, { timeoutMs: 10_000, ownerTimeoutMs: 500, program })
    const late = Number.POSITIVE_INFINITY
    assert.deepEqual(
      names.map((name) => counts.get(join(folder, name))),
      [0, late, late, late, 0],
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})
