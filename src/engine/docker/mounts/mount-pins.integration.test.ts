import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { test } from "node:test"
import { Worker } from "node:worker_threads"
import { smallDisk } from "../../../../test/fixtures/files/small-disk.ts"
import { EngineError, type Mount } from "../../engine.ts"
import { Shell } from "../host/shell.ts"
import { MountPins, type PinOptions } from "./mount-pins.ts"

const key = "0123456789abcdef0123456789abcdef"
const never = new AbortController().signal

test("a pin stays on the opened directory when another one takes its name", async () => {
  await using fixture = await createPins()
  await fixture.directory("users/ann/data", "mine")
  const [pinned] = await fixture.pin([mount("/users/ann/data")])
  await rename(fixture.at("users/ann/data"), fixture.at("users/ann/old"))
  await fixture.directory("users/ann/data", "other")
  assert.equal(await readFile(join(pinned?.path ?? "", "name"), "utf8"), "mine")
})

test("a source with a link anywhere in its path does not exist", async () => {
  await using fixture = await createPins()
  await fixture.directory("secret/inner", "secret")
  await mkdir(fixture.at("users/ann"), { recursive: true })
  await symlink("../../secret", fixture.at("users/ann/link"))
  await symlink("secret", fixture.at("shortcut"))
  for (const source of ["/users/ann/link", "/users/ann/link/inner", "/shortcut/inner"])
    await fixture.assertRejected([mount(source)], "mount_missing")
})

test("a missing source or a file is rejected and leaves nothing", async () => {
  await using fixture = await createPins()
  await fixture.directory("data", "data")
  for (const source of ["/nothing", "/data/name", "/data/name/x"])
    await fixture.assertRejected([mount("/data"), mount(source, "/x")], "mount_missing")
})

test("a directory that its owner keeps from the runs is rejected by name", async () => {
  await using fixture = await createPins()
  await fixture.directory("users/ann/data", "hers")
  await chmod(fixture.at("users/ann/data"), 0o700)
  await chown(fixture.at("users/ann/data"), 0, 0)
  const msg = /^The directory \/users\/ann\/data, to be mounted at \/m, cannot be opened by runs: it belongs to the account 0 /
  await assert.rejects(fixture.pin([mount("/users/ann/data", "/m")]), (error: EngineError) => {
    return error.code === "mount_unreadable" && msg.test(error.message)
  })
  await chmod(fixture.at("users/ann/data"), 0o750)
  await fixture.pin([mount("/users/ann/data", "/m")])
})

test("a source with invalid components is rejected", async () => {
  await using fixture = await createPins()
  for (const source of ["/../etc", "/a/./b", "etc", "/a\0b"]) await fixture.assertRejected([mount(source)], "mount_missing")
})

test("a directory that is removed and created in a tight loop is pinned or rejected", async () => {
  await using fixture = await createPins()
  await mkdir(fixture.at("users/ann/data"), { recursive: true })
  const remove = "rmdirSync(parent + '/data'); mkdirSync(parent + '/data')"
  await using thread = await repeatInThread(remove, { parent: fixture.at("users/ann") })
  for (let n = 0; n < 200; n += 1) {
    const pinned = await fixture.pin([mount("/users/ann/data")]).catch((error: EngineError) => error)
    if (pinned instanceof Error) assert.equal(pinned.code, "mount_missing", String(pinned.detail))
    await fixture.pins.release(key)
  }
  assert.ok(thread.rounds() > 100)
})

test("a read-only pin rejects writes, a writable one accepts them", async () => {
  await using fixture = await createPins()
  await fixture.directory("data", "data")
  const [readable, writable] = await fixture.pin([mount("/data", "/a", true), mount("/data", "/b", false)])
  await assert.rejects(writeFile(join(readable?.path ?? "", "new"), ""), { code: "EROFS" })
  await writeFile(join(writable?.path ?? "", "new"), "")
  const flags = await mountFlags(writable?.path ?? "")
  assert.ok(flags.includes("nosuid") && flags.includes("nodev"), flags)
})

test("a pin does not contain mounts below its source", async () => {
  await using fixture = await createPins()
  await fixture.directory("data/inner", "of the disk")
  await fixture.directory("other", "of the mount")
  await withBindMount(fixture.at("other"), fixture.at("data/inner"), async () => {
    const [pinned] = await fixture.pin([mount("/data")])
    assert.equal(await readFile(join(pinned?.path ?? "", "inner", "name"), "utf8"), "of the disk")
  })
})

test("a mount point inside a writable mount is created as the runs' user", async () => {
  await using fixture = await createPins()
  await fixture.directory("code", "code")
  await fixture.directory("data", "data")
  await fixture.pin([mount("/code", "/work", false), mount("/data", "/work/in/data")])
  const created = await stat(fixture.at("code/in/data"))
  assert.deepEqual([created.uid, created.gid], [1000, 1000])
})

test("a mount point is never created through a link or in a read-only mount", async () => {
  await using fixture = await createPins()
  await fixture.directory("code", "code")
  await fixture.directory("data", "data")
  await fixture.directory("victim", "victim")
  await symlink("../victim", fixture.at("code/in"))
  await fixture.assertRejected([mount("/code", "/work", false), mount("/data", "/work/in/data")], "mount_missing")
  await fixture.assertRejected([mount("/code", "/work", true), mount("/data", "/work/new")], "mount_missing")
  assert.deepEqual(await readdir(fixture.at("victim")), ["name"])
})

test("release leaves nothing, can be called twice, and never changes the pinned directory", async () => {
  await using fixture = await createPins()
  await fixture.directory("data", "data")
  await fixture.pin([mount("/data", "/a"), mount("/data", "/b", false)])
  assert.deepEqual(await fixture.pins.pinnedKeys(), [key])
  await fixture.pins.release(key)
  await fixture.pins.release(key)
  assert.deepEqual(await fixture.pins.pinnedKeys(), [])
  assert.deepEqual(await readdir(fixture.at("data")), ["name"])
  assert.ok(!(await readFile("/proc/self/mountinfo", "utf8")).includes(basename(dirname(fixture.staging)).slice(-6)))
})

test("release removes an incomplete pin of an earlier process", async () => {
  await using fixture = await createPins()
  await fixture.directory("data", "data")
  await fixture.pin([mount("/data", "/a")])
  await mkdir(join(fixture.staging, key, "1"))
  await fixture.pins.release(key)
  assert.deepEqual(await fixture.pins.pinnedKeys(), [])
})

test("64 sources are pinned at once", async () => {
  await using fixture = await createPins()
  const mounts = Array.from({ length: 64 }, (_, n) => mount(`/data-${n}`, `/data/${n}`))
  for (const { source } of mounts) await fixture.directory(source.slice(1), source)
  const pinned = await fixture.pin(mounts)
  for (const [n, { path }] of pinned.slice(0, 64).entries()) assert.equal(await readFile(join(path, "name"), "utf8"), `/data-${n}`)
})

test("a staging folder that others can read is rejected", async () => {
  await using fixture = await createPins()
  await chmod(fixture.staging, 0o755)
  await assert.rejects(fixture.pins.prepare(), /must have mode 0700/)
})

test("swapping a directory and a link in a tight loop never pins another directory", async () => {
  await using fixture = await createPins()
  await fixture.directory("secret", "secret")
  await fixture.directory("users/ann/data", "mine")
  const swap = `
    renameSync(parent + "/data", parent + "/held")
    symlinkSync(secret, parent + "/data")
    unlinkSync(parent + "/data")
    renameSync(parent + "/held", parent + "/data")`
  await using thread = await repeatInThread(swap, { parent: fixture.at("users/ann"), secret: fixture.at("secret") })
  const outcomes = { mine: 0, rejected: 0 }
  for (let n = 0; n < 300 || ((outcomes.mine === 0 || outcomes.rejected === 0) && n < 3_000); n += 1) {
    const pinned = await fixture.pin([mount("/users/ann/data")]).catch((error: EngineError) => error)
    if (pinned instanceof Error) {
      assert.equal(pinned.code, "mount_missing", String(pinned.detail))
      outcomes.rejected += 1
      continue
    }
    assert.equal(await readFile(join(pinned[0]?.path ?? "", "name"), "utf8"), "mine")
    outcomes.mine += 1
    await fixture.pins.release(key)
  }
  assert.ok(thread.rounds() > 100)
  assert.ok(outcomes.mine > 0 && outcomes.rejected > 0, JSON.stringify(outcomes))
})

test("a full disk fails a start with disk_full, leaves nothing, and does not prevent the server's start", async () => {
  await using fixture = await createPins()
  await fixture.directory("data", "mine")
  await using disk = await smallDisk(64)
  const pins = new MountPins({ filesRoot: fixture.at(""), stagingDir: join(disk.path, "staging") }, new Shell())
  await pins.prepare()
  disk.fillUp()
  const pin = () => pins.pin({ key, mounts: [mount("/data")], files: { "/etc/passwd": "x" }, uid: 1000, gid: 1000 }, never)
  await assert.rejects(pin(), (error) => error instanceof EngineError && error.code === "disk_full")
  await pins.assertCanMount()
  assert.deepEqual(await pins.pinnedKeys(), [])
  await disk.makeRoom()
  await pins.assertCanMount()
  assert.equal((await pin()).length, 2)
  await pins.release(key)
})

interface PinsFixture extends AsyncDisposable {
  pins: MountPins
  staging: string
  at(path: string): string
  directory(path: string, name: string): Promise<void>
  pin(mounts: Mount[], key?: string): ReturnType<MountPins["pin"]>
  assertRejected(mounts: Mount[], code: string): Promise<void>
}

async function createPins(): Promise<PinsFixture> {
  const folder = await mkdtemp(join(tmpdir(), "quayside pins\\-"))
  const filesRoot = join(folder, "files")
  const staging = join(folder, "staging")
  await mkdir(filesRoot)
  const pins = new MountPins({ filesRoot, stagingDir: staging }, new Shell())
  await pins.prepare()
  const at = (path: string) => join(filesRoot, path)
  const options = (mounts: Mount[], of = key): PinOptions => ({ key: of, mounts, files: { "/etc/passwd": "x" }, uid: 1000, gid: 1000 })
  return {
    pins,
    staging,
    at,
    async directory(path, name) {
      await mkdir(at(path), { recursive: true })
      await writeFile(join(at(path), "name"), name)
    },
    pin: (mounts, of) => pins.pin(options(mounts, of), never),
    async assertRejected(mounts, code) {
      await assert.rejects(pins.pin(options(mounts), never), (error) => error instanceof EngineError && error.code === code)
      assert.deepEqual(await pins.pinnedKeys(), [])
    },
    async [Symbol.asyncDispose]() {
      for (const each of await pins.pinnedKeys()) await pins.release(each)
      await rm(folder, { recursive: true })
    },
  }
}

async function withBindMount(source: string, target: string, work: () => Promise<void>): Promise<void> {
  execFileSync("mount", ["--bind", source, target])
  try {
    await work()
  } finally {
    execFileSync("umount", [target])
  }
}

function mount(source: string, target = "/data", readOnly = true): Mount {
  return { source, target, readOnly }
}

async function mountFlags(path: string): Promise<string> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n")
  return lines.find((line) => line.split(" ")[4]?.endsWith(path.slice(-34)))?.split(" ")[5] ?? ""
}

/** Runs a file system operation repeatedly, as fast as a thread can. */
async function repeatInThread(work: string, data: Record<string, string>): Promise<AsyncDisposable & { rounds(): number }> {
  const shared = new Int32Array(new SharedArrayBuffer(8))
  const code = `
    const { mkdirSync, renameSync, rmdirSync, symlinkSync, unlinkSync } = require("node:fs")
    const { workerData: { shared, parent, secret } } = require("node:worker_threads")
    while (Atomics.load(shared, 1) === 0) {
      ${work}
      Atomics.add(shared, 0, 1)
    }`
  const worker = new Worker(code, { eval: true, workerData: { shared, ...data } })
  const ended = new Promise<void>((resolve, reject) => worker.once("exit", () => resolve()).once("error", reject))
  return {
    rounds: () => Atomics.load(shared, 0),
    async [Symbol.asyncDispose]() {
      Atomics.store(shared, 1, 1)
      await ended
    },
  }
}
