import assert from "node:assert/strict"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { EntryReader } from "./entry-reader.ts"

test("entries that the kernel's cache does not have are looked up in few calls, whichever are left out", async (t) => {
  const path = mkdtempSync(join(tmpdir(), "quayside-entries-"))
  t.after(() => rmSync(path, { recursive: true }))
  const names = Array.from({ length: 300 }, (_, i) => `f${i}`)
  for (const [i, name] of names.entries()) writeFileSync(join(path, name), "x".repeat(i))
  using handle = DirectoryHandle.open(path)
  const directory = TreeDirectory.of(handle, 1)
  t.mock.method(TreeDirectory.prototype, "knownStats", () => undefined)
  const turns = t.mock.method(TreeDirectory.prototype, "inTurn").mock
  for (const step of [1, 70, 299]) {
    const reader = new EntryReader(directory, [...names, "missing"])
    for (let i = 0; i < names.length; i += step) assert.equal((await reader.lstat(`f${i}`))?.size, i, `${step}`)
    assert.equal(await reader.lstat("missing"), undefined)
    assert.ok(turns.callCount() < 30, `${turns.callCount()} turns`)
    turns.resetCalls()
  }
})
