import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { readIgnored } from "./ignored.ts"

const root = await mkdtemp(join(tmpdir(), "quayside-ignored-"))
after(() => rm(root, { recursive: true }))

async function rulesOf(...lines: string[]) {
  await writeFile(join(root, ".quaysideignore"), lines.join("\n"))
  return readIgnored(root)
}

test("lines of a folder's file are those of .gitignore", async () => {
  const isIgnored = await rulesOf("*.tmp", "/build/", "**/cache/**/old", "!keep.tmp", "# a ** b ** c", "[._]*.s[a-v][a-z]")
  for (const path of ["a.tmp", "x/a.tmp", "cache/old", "x/cache/y/z/old", ".a.svn"]) assert.equal(isIgnored(path, false), true, path)
  for (const path of ["keep.tmp", "x/build", "old", "a.txt"]) assert.equal(isIgnored(path, false), false, path)
  assert.deepEqual([isIgnored("build", true), isIgnored("x/build", true)], [true, false])
})

test("files of rules are ignored at every level, under all names that a file system finds them by", async () => {
  const isIgnored = await rulesOf("!.quaysideignore")
  for (const path of [".quaysideignore", "a/b/.quaysideignore", ".QuaysideIgnore", ".quay\u200csideignore", ".quay\u017fideignore."])
    assert.deepEqual([isIgnored(path, false), isIgnored(path, true)], [true, true], path)
  for (const path of ["quaysideignore", ".quaysideignore.conflict", ".quaysideignore2"]) assert.equal(isIgnored(path, false), false, path)
})

test("a line whose comparison takes long is an error that names it", async () => {
  for (const line of ["**/a/**/a/**/a", "a*a*a*a*b", "x/*a*a*a*/y", "!**/a/**/b/**"]) {
    await assert.rejects(rulesOf("fine", line), (error: Error) => {
      assert.match(error.message, /\.quaysideignore, line 2: at most 2 "\*\*"/)
      return true
    })
  }
})
