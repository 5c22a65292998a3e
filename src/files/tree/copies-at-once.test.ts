import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { bounds, Failure } from "#contract"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { DeadProperties } from "../properties/dead-properties.ts"
import { withDiskTurn } from "../requests/disk-turns.ts"
import { StagingArea } from "../staging/staging-area.ts"
import type { StorageLedger } from "../storage/ledger.ts"
import { copyEntry } from "./copy-entry.ts"
import { DirectoryHandle } from "./directory-handle.ts"
import { LocalFileTree } from "./local-file-tree.ts"
import { TreeDirectory } from "./tree-directory.ts"

/*
 * Each release of a project's code copies it, and a person may request thousands at once. A copy
 * has a buffer of 1 MiB and several descriptors.
 */

const full = new Failure("storage_full", "There is no room")

test("a person's copies of code wait for each other and not for another person's", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "quayside-copies-"))
  t.after(() => rmSync(directory, { recursive: true }))
  mkdirSync(join(directory, "code"))
  using root = DirectoryHandle.open(directory)
  await using staging = new StagingArea(root, assert.ifError)
  const begun: (string | undefined)[] = []
  const { promise: end, reject } = Promise.withResolvers<never>()
  const reserve = (account: string | undefined) => {
    begun.push(account)
    return end
  }
  await using properties = new DeadProperties(root)
  const tree = new LocalFileTree({ root, staging, storage: { reserve } as unknown as StorageLedger, properties })
  const copy = (account: string, i: number) =>
    tree.run({ op: "copyTree", from: "/code", to: `/${account}${i}`, limits: {}, replace: true, maxMs: 60_000, account }, {})
  const copies = Array.from({ length: 20 }, (_, i) => assert.rejects(copy("ann", i), full))
  copies.push(assert.rejects(copy("bob", 0), full))
  await eventually("some copies began", () => begun.length > bounds.files.copiesAtOnce.value)
  for (let i = 0; i < 10; i += 1) await turn()
  assert.deepEqual(begun.toSorted(), [...Array.from({ length: bounds.files.copiesAtOnce.value }, () => "ann"), "bob"])
  reject(full)
  await Promise.all(copies)
  assert.equal(begun.length, 21)
})

test("a copy of a small file that a program makes larger meanwhile has the size that was counted", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "quayside-growing-"))
  t.after(() => rmSync(directory, { recursive: true }))
  const [file, copy] = [join(directory, "file"), join(directory, "copy")]
  writeFileSync(file, "content")
  using handle = DirectoryHandle.open(directory)
  const parent = TreeDirectory.of(handle, 7)
  // The person's other calls keep the copy waiting.
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const others = Array.from({ length: bounds.files.diskThreadsOfPerson.value }, () => withDiskTurn(7, () => released))
  const copying = copyEntry({ parent, name: "file" }, { parent, name: "copy" })
  for (let i = 0; i < 10; i += 1) await turn()
  truncateSync(file, 100_000_000)
  release()
  await Promise.all(others)
  assert.deepEqual(await copying, { entries: 1, bytes: 7 })
  assert.equal(statSync(copy).size, 7)
  assert.equal(readFileSync(copy, "utf8"), "content")
})
