import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { bounds } from "#contract"
import { createProcessId, Yielder } from "#kit"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { unfinishedIn } from "../../../test/fixtures/files/unfinished.ts"
import { mayMount, mount } from "../../../test/fixtures/mount.ts"
import { DeadProperties } from "../properties/dead-properties.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { StagedEntry } from "./staged-entry.ts"
import { StagingArea } from "./staging-area.ts"

let path: string
let root: DirectoryHandle
let tree: TreeDirectory
before(() => {
  path = mkdtempSync(join(tmpdir(), "quayside-work-"))
  root = DirectoryHandle.open(path)
  tree = TreeDirectory.of(root, 1)
})
after(() => {
  root[Symbol.dispose]()
  rmSync(path, { recursive: true, force: true })
})
const work = (...names: string[]) => join(path, ".quayside/work", ...names)
const report = (error: unknown) => assert.fail(String(error))

/** The ID of a process that has ended. */
function deadId(): string {
  const [domain, , , random] = createProcessId().split("-")
  const { pid } = spawnSync("true")
  return [domain, pid, "12345", random].join("-")
}

test("a dead process's leftovers are swept, whatever they contain", async () => {
  await using area = new StagingArea(root, report)
  const dead = deadId()
  mkdirSync(work(dead, "1/deep/er"), { recursive: true })
  writeFileSync(work(dead, "2"), "")
  mkdirSync(join(path, "outside"))
  writeFileSync(join(path, "outside/kept"), "")
  symlinkSync(join(path, "outside"), work(dead, "1/link"))
  symlinkSync("/etc", work(dead, "3"))
  await area.sweep(root)
  assert.equal(existsSync(work(dead)), false)
  assert.equal(existsSync(join(path, "outside/kept")), true)
})

test("the sweep restores an entry that a dead process moved away for a replacement, unless its name is in use", async () => {
  await using area = new StagingArea(root, report)
  const dead = deadId()
  for (const [n, name] of ["gone", "there"].entries()) {
    mkdirSync(work(dead, String(n), "old"), { recursive: true })
    symlinkSync(join(path, "place", name), work(dead, `${n}.from`))
  }
  mkdirSync(join(path, "place/there/new"), { recursive: true })
  symlinkSync(join(path, "outside"), join(path, "linked"))
  mkdirSync(work(dead, "9/old"), { recursive: true })
  symlinkSync(join(path, "linked/planted"), work(dead, "9.from"))
  await area.sweep(root)
  assert.deepEqual([readdirSync(join(path, "place/gone")), readdirSync(join(path, "place/there"))], [["old"], ["new"]])
  assert.equal(existsSync(join(path, "outside/planted")), false)
  assert.equal(existsSync(work(dead)), false)
})

test("an entry that the sweep cannot restore stays for the next one", { skip: !mayMount() && "this process may not mount" }, async () => {
  const reported: unknown[] = []
  await using area = new StagingArea(root, (error) => reported.push(error))
  const dead = deadId()
  mkdirSync(work(dead, "of-one/1/old"), { recursive: true })
  symlinkSync(join(path, "elsewhere/one"), work(dead, "of-one/1.from"))
  mkdirSync(work(dead, "of-two/1/old"), { recursive: true })
  const unmount = mount(join(path, "elsewhere"), { size: "1m", uid: 0, gid: 0 })
  try {
    await area.sweep(root)
  } finally {
    unmount()
  }
  assert.deepEqual(
    reported.map((error) => (error as NodeJS.ErrnoException).code),
    ["EXDEV"],
  )
  assert.deepEqual(readdirSync(work(dead)), ["of-one"], "others' entries are removed")
  await area.sweep(root)
  assert.deepEqual(readdirSync(join(path, "elsewhere/one")), ["old"])
  assert.equal(existsSync(work(dead)), false)
})

for (const { times, isReplaced } of [
  { times: 2, isReplaced: true },
  { times: 100, isReplaced: false },
])
  test(`a program makes the entry again ${times} times while it is replaced, and nothing of the old one remains staged`, async () => {
    await using area = new StagingArea(root, report)
    const at = (name: string) => join(path, name)
    mkdirSync(at("again"))
    writeFileSync(at("again/old"), "")
    mkdirSync(at("copy"))
    let made = 0
    const move = async () => {
      if (made < times) {
        made += 1
        mkdirSync(at("again"))
        writeFileSync(at("again/program's"), "")
      }
      await tree.rename("copy", tree, "again")
    }
    const replaced = area.replace({ parent: tree, name: "again" }, move)
    if (isReplaced) await replaced
    else await assert.rejects(replaced, { code: "ENOTEMPTY" })
    assert.deepEqual(readdirSync(at("again")), isReplaced ? [] : ["program's"])
    await eventually("nothing remains", () => unfinishedIn(path).length === 0)
    rmSync(at("again"), { recursive: true })
    rmSync(at("copy"), { recursive: true, force: true })
  })

test("a replacement replaces exactly one entry, and a failed one leaves it in place", async () => {
  await using area = new StagingArea(root, report)
  mkdirSync(join(path, "fresh/new"), { recursive: true })
  mkdirSync(join(path, "taken/old"), { recursive: true })
  const to = { parent: tree, name: "taken" }
  const replace = (name: string) => area.replace(to, () => tree.rename(name, to.parent, to.name))
  const { emptied } = await replace("fresh")
  assert.deepEqual([existsSync(join(path, "fresh")), readdirSync(join(path, "taken"))], [false, ["new"]])
  await emptied
  await assert.rejects(replace("missing"), { code: "ENOENT" })
  assert.deepEqual(readdirSync(join(path, "taken")), ["new"])
  assert.deepEqual(unfinishedIn(path), [])
})

test("a tree that programs keep filling is removed soon after they end", async () => {
  await using area = new StagingArea(root, report)
  const trash = () => unfinishedIn(path).length
  // A few names, again and again: the tree grows no larger if this process rarely gets a core.
  const fill = "echo; while :; do i=$(((i + 1) % 200)); : >$$.$i; done"
  let left = 0
  // On a busy machine the programs may make no name while the tree is removed.
  while (left === 0) {
    mkdirSync(join(path, "busy"))
    const programs = [1, 2].map(() => spawn("sh", ["-c", fill], { cwd: join(path, "busy"), stdio: ["ignore", "pipe", "ignore"] }))
    try {
      for (const { stdout } of programs) await once(stdout, "data")
      await (await area.discard(tree, "busy")).emptied
      left = trash()
      assert.equal(existsSync(join(path, "busy")), false)
    } finally {
      await Promise.all(programs.map((program) => program.kill("SIGKILL") && once(program, "exit")))
    }
  }
  await eventually("the trash is empty", () => trash() === 0, 60_000)
})

test("no deleted directory is forgotten until it is gone, and one person's leave room for those of others", async (t) => {
  await using area = new StagingArea(root, report)
  const resisting = t.mock.method(StagedEntry.prototype, "removeContent", async () => false)
  const most = bounds.files.trashedDirectories.value
  const discard = async (owner: number, name: string) => {
    mkdirSync(join(path, name))
    await (await area.discard(TreeDirectory.of(root, owner), name)).emptied
  }
  for (let n = 0; n < most; n += 1) await discard(1, `ann${n}`)
  await assert.rejects(discard(1, "more"), { code: "too_many_requests" })
  assert.equal(existsSync(join(path, "more")), true)
  await discard(2, "bob")
  const origins = () => area.trash.list().map(({ origin }) => origin)
  assert.deepEqual([origins().length, origins()[0], origins().at(-1)], [most + 1, "/ann0", "/bob"])
  resisting.mock.restore()
  await eventually("the other person's is removed", () => !origins().includes("/bob"))
  rmSync(join(path, "more"), { recursive: true })
})

test("the sweep leaves another machine's entries until its heartbeat is long overdue", async () => {
  await using area = new StagingArea(root, report)
  mkdirSync(work("0123456789ab-1-1-00"), { recursive: true })
  await area.sweep(root)
  assert.equal(existsSync(work("0123456789ab-1-1-00")), true)
  const longAgo = Date.now() / 1000 - 700
  utimesSync(work("0123456789ab-1-1-00"), longAgo, longAgo)
  await area.sweep(root)
  assert.equal(existsSync(work("0123456789ab-1-1-00")), false)
})

test("two running processes leave each other's files alone", async () => {
  const one = new StagingArea(root, report)
  const other = new StagingArea(root, report)
  using file = await one.createTempFile(tree)
  await other.sweep(root)
  await file.moveTo(tree, "moved")
  assert.equal(existsSync(join(path, "moved")), true)
  await one[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  assert.deepEqual(readdirSync(work()), [])
})

test("stored properties survive a restart, a truncated line and the rewriting of their log", async () => {
  await using _place = new StagingArea(root, report)
  const file = join(path, ".quayside/properties.jsonl")
  {
    await using first = new DeadProperties(root)
    await first.patch("/a", [{ key: "urn:x color", value: "<blue/>" }])
    await first.patch("/a/b", [{ key: "urn:x size", value: "<one/>" }])
  }
  writeFileSync(file, '{"set":"/a","key":"urn:x cut', { flag: "a" })
  {
    await using second = new DeadProperties(root)
    for (let i = 0; i < 3_000; i += 1) {
      await second.patch("/churn", [{ key: "urn:x n", value: `<n>${"x".repeat(1_000)}${i}</n>` }])
      await second.compaction
    }
    await second.move("/a", "/c")
    await using staged = await second.stageCopy({ path: "/c", to: "/d", deep: false }, new Yielder())
    await second.move(staged.path, "/d")
    await second.remove("/churn")
  }
  await using third = new DeadProperties(root)
  assert.deepEqual(
    [...((await third.all()) ?? [])].map(([at, stored]) => [at, [...stored]]),
    [
      ["/c", [["urn:x color", "<blue/>"]]],
      ["/c/b", [["urn:x size", "<one/>"]]],
      ["/d", [["urn:x color", "<blue/>"]]],
    ],
  )
  assert.ok(statSync(file).size < 2.5 * 2 ** 20)
})
