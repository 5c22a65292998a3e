import assert from "node:assert/strict"
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { Failure } from "#contract"
import type { CopyProgress, FileTree } from "#files"
import { asRoot, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { unfinishedIn } from "../../../test/fixtures/files/unfinished.ts"

let server: TestFilesServer
let tree: FileTree
before(async () => {
  server = await TestFilesServer.start({ runIn: "worker" })
  tree = server.files.tree
})
after(() => server[Symbol.asyncDispose]())
const at = (path: string) => join(server.root, path)
const failure = (code: string) => (error: unknown) => error instanceof Failure && error.code === code

test("a directory is created with its parents, belongs to the owner, and is created once", async () => {
  assert.equal(await tree.exists("/users/ann/data"), false)
  await tree.ensureDirectory("/users/ann/data")
  await tree.ensureDirectory("/users/ann/data")
  assert.equal(await tree.exists("/users/ann/data"), true)
  for (const path of ["", "users", "users/ann", "users/ann/data"]) {
    const { mode, uid } = statSync(at(path))
    assert.equal(mode & 0o777, 0o755)
    assert.equal(uid, asRoot ? owner.uid : process.getuid?.())
  }
})

test("a new directory is refused when the name is taken", async () => {
  assert.equal(await tree.makeNewDirectory("/users/ann/new/one"), true)
  assert.equal(await tree.makeNewDirectory("/users/ann/new/one"), false)
  writeFileSync(at("users/ann/file"), "")
  assert.equal(await tree.makeNewDirectory("/users/ann/file"), false)
  const created = await Promise.all(Array.from({ length: 10 }, () => tree.makeNewDirectory("/users/ann/race")))
  assert.equal(created.filter(Boolean).length, 1)
})

test("removing an empty directory leaves one that is not empty", async () => {
  await tree.ensureDirectory("/users/ann/vain/full")
  await tree.removeEmptyDirectory("/users/ann/vain")
  assert.equal(await tree.exists("/users/ann/vain/full"), true)
  await tree.removeEmptyDirectory("/users/ann/vain/full")
  await tree.removeEmptyDirectory("/users/ann/vain/full")
  assert.equal(await tree.exists("/users/ann/vain/full"), false)
})

test("a path through a link or a file is a conflict, and nothing is created behind it", async () => {
  symlinkSync(join(server.folder, "outside"), at("users/ann/link"))
  for (const path of ["/users/ann/link/x", "/users/ann/link", "/users/ann/file/x"]) {
    assert.equal(await tree.exists(path), false)
    await assert.rejects(tree.ensureDirectory(path), failure("conflict"))
  }
  await assert.rejects(tree.makeNewDirectory("/users/ann/link/x"), failure("conflict"))
  await assert.rejects(tree.copyTree("/users/ann/link", "/users/ann/copied"), failure("not_found"))
  await tree.removeTree("/users/ann/link/x")
  assert.deepEqual(readdirSync(join(server.folder, "outside")), [])
})

test("names that lead elsewhere, and reserved ones, are refused", async () => {
  for (const path of ["/users/../x", "/./x", "users", "/a\0b"]) await assert.rejects(tree.ensureDirectory(path), /start with|single/)
  await assert.rejects(tree.ensureDirectory("/.quayside/x"), failure("invalid"))
  await assert.rejects(tree.ensureDirectory(`/${"x".repeat(256)}`), failure("invalid"))
  await assert.rejects(tree.removeTree("/"), failure("forbidden"))
})

test("a tree is copied as a whole: files, directories and their nine bits, and nothing else", async () => {
  mkdirSync(at("users/ann/code/pkg"), { recursive: true })
  writeFileSync(at("users/ann/code/run.sh"), "#!/bin/sh\n")
  chmodSync(at("users/ann/code/run.sh"), 0o6755)
  writeFileSync(at("users/ann/code/pkg/a.py"), "a")
  writeFileSync(at("users/ann/code/big"), Buffer.alloc(3_000_000, "b"))
  symlinkSync("/etc/passwd", at("users/ann/code/passwd"))
  const seen: CopyProgress[] = []
  const copied = await tree.copyTree("/users/ann/code", "/users/ann/projects/7/code", { onProgress: (progress) => seen.push(progress) })
  assert.deepEqual(copied, { entries: 5, bytes: 3_000_011 })
  assert.deepEqual(seen[0]?.done, { entries: 0, bytes: 0 })
  assert.deepEqual(seen.at(-1), { done: copied, total: copied })
  assert.deepEqual(readdirSync(at("users/ann/projects/7/code")).toSorted(), ["big", "pkg", "run.sh"])
  assert.equal(statSync(at("users/ann/projects/7/code/run.sh")).mode & 0o7777, 0o755)
  assert.ok(readFileSync(at("users/ann/projects/7/code/big")).equals(Buffer.alloc(3_000_000, "b")))
  if (asRoot) for (const path of ["", "/run.sh", "/pkg/a.py"]) assert.equal(statSync(at(`users/ann/projects/7/code${path}`)).uid, owner.uid)
  rmSync(at("users/ann/code/big"))
  await tree.copyTree("/users/ann/code", "/users/ann/projects/7/code")
  assert.deepEqual(readdirSync(at("users/ann/projects/7/code")).toSorted(), ["pkg", "run.sh"])
})

test("a copy beyond its limits leaves the target unchanged", async () => {
  mkdirSync(at("users/ann/huge"), { recursive: true })
  for (let i = 0; i < 20; i += 1) writeFileSync(at(`users/ann/huge/${i}`), Buffer.alloc(50_000))
  await tree.ensureDirectory("/users/ann/target/kept")
  for (const limits of [{ maxBytes: 2 ** 19 }, { maxEntries: 10 }]) {
    await assert.rejects(tree.copyTree("/users/ann/huge", "/users/ann/target", limits), failure("conflict"))
  }
  mkdirSync(at("users/ann/slow"))
  for (let i = 0; i < 3_000; i += 1) writeFileSync(at(`users/ann/slow/${i}`), "")
  await assert.rejects(tree.copyTree("/users/ann/slow", "/users/ann/target", { maxMs: 1 }), /it took longer than/)
  const aborted = AbortSignal.abort(new Error("stopped"))
  await assert.rejects(tree.copyTree("/users/ann/huge", "/users/ann/target", { signal: aborted }), /stopped/)
  assert.equal(existsSync(at("users/ann/target/kept")), true)
  assert.deepEqual(leftovers(), [])
})

test("a copy without `replace` leaves an existing directory, and one of many concurrent copies succeeds", async () => {
  await tree.ensureDirectory("/users/ann/begun/kept")
  assert.equal(await tree.copyTree("/users/ann/code", "/users/ann/begun", { replace: false }), undefined)
  assert.deepEqual(readdirSync(at("users/ann/begun")), ["kept"])
  const copies = await Promise.all(
    Array.from({ length: 5 }, () => tree.copyTree("/users/ann/code", "/users/ann/once/code", { replace: false })),
  )
  assert.equal(copies.filter((copied) => copied !== undefined).length, 1)
  assert.deepEqual(readdirSync(at("users/ann/once/code")).toSorted(), ["pkg", "run.sh"])
  assert.deepEqual(leftovers(), [])
})

test("a copy without `replace` leaves a directory that somebody makes while it copies", async () => {
  const onProgress = () => void mkdirSync(at("users/ann/late/kept"), { recursive: true })
  assert.equal(await tree.copyTree("/users/ann/slow", "/users/ann/late", { replace: false, onProgress }), undefined)
  assert.deepEqual(readdirSync(at("users/ann/late")), ["kept"])
  assert.deepEqual(leftovers(), [])
})

test("breaking hard links gives each file its own inode and changes nothing else", async () => {
  await tree.ensureDirectory("/users/ann/linked/d")
  await tree.ensureDirectory("/users/ann/elsewhere")
  const files = ["f", "d/g", "d/alone"].map((name) => at(`users/ann/linked/${name}`))
  for (const file of files) writeFileSync(file, "content", { mode: 0o640 })
  for (const file of files) if (asRoot) chownSync(file, owner.uid, owner.gid)
  linkSync(at("users/ann/linked/f"), at("users/ann/elsewhere/f"))
  linkSync(at("users/ann/linked/d/g"), at("users/ann/linked/within"))
  symlinkSync("../elsewhere", at("users/ann/linked/link"))
  const alone = statSync(at("users/ann/linked/d/alone")).ino
  await tree.breakHardLinks("/users/ann/linked")
  writeFileSync(at("users/ann/elsewhere/f"), "planted")
  for (const file of [...files, at("users/ann/linked/within")]) {
    assert.deepEqual([readFileSync(file, "utf8"), statSync(file).nlink, statSync(file).mode & 0o777], ["content", 1, 0o640], file)
  }
  assert.equal(statSync(at("users/ann/linked/d/alone")).ino, alone)
  assert.deepEqual(readdirSync(at("users/ann/linked")).toSorted(), ["d", "f", "link", "within"])
  await tree.breakHardLinks("/users/ann/not-there")
  assert.deepEqual(leftovers(), [])
})

test("a tree is removed at any depth", async () => {
  await tree.ensureDirectory("/users/ann/deep")
  const names = Array.from({ length: 1_500 }, () => "d")
  for (let i = 0; i < names.length; i += 500) await tree.ensureDirectory(`/users/ann/deep/${names.slice(0, i + 500).join("/")}`)
  await tree.removeTree("/users/ann/deep")
  assert.equal(await tree.exists("/users/ann/deep"), false)
  assert.deepEqual(leftovers(), [])
  await tree.removeTree("/users/ann/deep")
})

function leftovers(): string[] {
  return unfinishedIn(server.root)
}
