import assert from "node:assert/strict"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, test } from "node:test"
import { assertNoSecret, assertUntouched, makeVictim } from "../../../test/fixtures/files/swapped-names.ts"
import { copyEntry } from "./copy-entry.ts"
import { DirectoryHandle } from "./directory-handle.ts"
import { removeTree } from "./remove-tree.ts"
import { TreeDirectory } from "./tree-directory.ts"

/*
 * The moments that a program which swaps names in a tight loop hits now and then, hit each time: a
 * name turns into a link after it was looked at and before it is used.
 */

let path: string
let handle: DirectoryHandle
let root: TreeDirectory
const victim = () => join(path, "victim")
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), "quayside-moments-"))
  handle = DirectoryHandle.open(path)
  root = TreeDirectory.of(handle, 1)
  makeVictim(victim())
  mkdirSync(join(path, "tree/swap/sub"), { recursive: true })
  writeFileSync(join(path, "tree/swap/f"), "own")
  mkdirSync(join(path, "hidden"))
})
afterEach(() => {
  handle[Symbol.dispose]()
  rmSync(path, { recursive: true, force: true })
})

let swaps = 0
function swapOnce(name: string, target: string): () => void {
  swaps = 0
  return () => {
    if (swaps > 0 || !existsSync(join(path, name))) return
    swaps += 1
    renameSync(join(path, name), join(path, "aside"))
    symlinkSync(target, join(path, name))
  }
}

/** Called after an entry was looked at and before it is opened. */
function atEachEntry(work: (entry: number) => void): AbortSignal {
  let entry = 0
  return Object.assign(new AbortController().signal, {
    throwIfAborted() {
      entry += 1
      work(entry)
    },
  })
}

for (const [what, name, entry] of [
  ["directory", "tree/swap", 2],
  ["file", "tree/swap/f", 0],
] as const) {
  test(`a ${what} that becomes a link just after a copy looked at it is not followed`, async () => {
    const target = what === "file" ? join(victim(), "f") : victim()
    rmSync(join(path, "tree/swap/sub"), { recursive: true })
    const swap = swapOnce(name, target)
    const signal = atEachEntry((n) => n === (entry || 3) && swap())
    using hidden = await root.openDirectory("hidden")
    await copyEntry({ parent: root, name: "tree" }, { parent: hidden, name: "1" }, { signal }).catch((error: NodeJS.ErrnoException) =>
      assert.match(error.code ?? "", /ELOOP|ENOTDIR/),
    )
    assert.equal(swaps, 1)
    assertNoSecret(join(path, "hidden"))
    assertUntouched(victim())
  })
}

test("a directory that becomes a link just before a removal moves it is removed as a link, with everything else", async () => {
  using hidden = await root.openDirectory("hidden")
  renameSync(join(path, "tree"), join(path, "hidden/1"))
  const swap = swapOnce("hidden/1/swap", victim())
  let count = 0
  const left = await removeTree(hidden, "1", () => {
    swap()
    count += 1
    return `1-${count}`
  })
  assert.equal(swaps, 1)
  assert.deepEqual([left, readdirSync(join(path, "hidden"))], [[], []])
  assertUntouched(victim())
})
