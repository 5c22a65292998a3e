import assert from "node:assert/strict"
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { bounds } from "#contract"
import { mountTurns } from "../../containers/mount-sources.ts"
import { MountLocks } from "./mount-locks.ts"

const uid = 1000

/** A files root with `users/ann/data/set`; everything below `users` is the runs' user's. */
function filesRoot(): Disposable & { path: string; at: (path: string) => string; asRun: (script: string) => number } {
  const path = mkdtempSync(join(tmpdir(), "quayside-locks-"))
  const at = (inner: string) => join(path, inner)
  chmodSync(path, 0o755)
  for (const [name, owner] of Object.entries({ users: 0, "users/ann": uid, "users/ann/data": uid, "users/ann/data/set": uid })) {
    mkdirSync(at(name))
    chownSync(at(name), owner, owner)
  }
  const asRun = (script: string) => spawnSync("sh", ["-c", script], { cwd: path, uid, gid: uid, stdio: "ignore" }).status ?? -1
  return { path, at, asRun, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}

const mount = { source: "/users/ann/data/set", target: "/work/data/set", readOnly: false }
const lockedPaths = ["users/ann", "users/ann/data", "users/ann/data/set"]

test("a locked path keeps its meaning, whatever the runs' user tries, and stays writable inside", async () => {
  using root = filesRoot()
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  await locks.lock([mount], "ann")
  for (const script of [
    "mv users/ann/data/set users/ann/data/other",
    "mv users/ann/data users/ann/other",
    "rmdir users/ann/data/set",
    "mkdir users/ann/x && mv -T users/ann/x users/ann/data/set",
    "chmod 777 users/ann/data",
    "ln -sfn ../../bob users/ann/data/set && [ -L users/ann/data/set ]",
  ])
    assert.notEqual(root.asRun(script), 0, script)
  const inside =
    "cd users/ann/data && touch file set/file && mv file renamed && mv set/file set/renamed && rm renamed && mkdir -p ../more/deep"
  assert.equal(root.asRun(inside), 0)
})

test("unlocked directories have the owner and mode that they had, except those that another start needs", async () => {
  using root = filesRoot()
  chmodSync(root.at("users/ann"), 0o700)
  chmodSync(root.at("users/ann/data/set"), 0o2755)
  const stats = () =>
    lockedPaths.map((path) => [statSync(root.at(path)).uid, statSync(root.at(path)).gid, statSync(root.at(path)).mode & 0o7777])
  const before = stats()
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  await locks.lock([mount, mount], "ann")
  await locks.unlock([mount.source], "ann", () => ["/users/ann/data/else"])
  assert.deepEqual(
    stats().map(([owner]) => owner),
    [0, 0, uid],
  )
  await locks.unlock([mount.source], "ann", () => [])
  assert.deepEqual(stats(), before)
  assert.equal(statSync(root.at("users")).uid, 0)
})

test("a link or a file on the path of a source rejects the lock, and a directory of another account cannot be renamed", async () => {
  using root = filesRoot()
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  symlinkSync("../ann", root.at("users/ann/link"))
  writeFileSync(root.at("users/ann/file"), "")
  for (const source of ["/users/ann/link/data", "/users/ann/file", "/users/ann/none"])
    await assert.rejects(locks.lock([{ ...mount, source }], "ann"), { code: "mount_missing" })
  mkdirSync(root.at("users/shared"))
  mkdirSync(root.at("users/shared/set"))
  chmodSync(root.at("users/shared"), 0o777)
  await locks.lock([{ ...mount, source: "/users/shared/set" }], "ann")
  assert.notEqual(root.asRun("mv users/shared/set users/shared/other"), 0)
})

test("a directory is given back when the last start that locked it ends, in whatever order they come", async () => {
  using root = filesRoot()
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  const none = () => []
  const owner = () => statSync(root.at("users/ann/data/set")).uid
  await locks.lock([mount], "ann")
  const second = locks.unlock([mount.source], "ann", none)
  await Promise.all([locks.lock([mount], "ann"), second])
  assert.equal(owner(), 0, "another start locked it meanwhile")
  await locks.lock([mount], "ann")
  await locks.unlock([mount.source], "ann", none)
  assert.equal(owner(), 0, "one of two has ended")
  locks.forget([mount.source])
  assert.equal(owner(), 0, "nobody gave it back")
  await locks.lock([mount], "ann")
  await locks.unlock([mount.source], "ann", none)
  assert.equal(owner(), uid)
})

test("a directory stays locked for the pod that a start leaves, while another start with long paths ends", async () => {
  using root = filesRoot()
  const long = `/users/ann/data/set${"/d".repeat(200)}`
  mkdirSync(root.at(long), { recursive: true })
  mkdirSync(root.at("users/bob"))
  spawnSync("chown", ["-R", `${uid}:${uid}`, root.at("users/ann/data/set"), root.at("users/bob")])
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  const sources = [long, "/users/bob"]
  await locks.lock(
    sources.map((source) => ({ ...mount, source })),
    "ann",
  )
  const needed: string[] = []
  const isEnded = locks.unlock(sources, "ann", () => needed).then(() => true)
  await locks.lock([{ ...mount, source: "/users/bob" }], "ann")
  assert.equal(await Promise.race([isEnded, Promise.resolve(false)]), false)
  needed.push("/users/bob")
  locks.forget(["/users/bob"])
  await isEnded
  assert.equal(statSync(root.at("users/bob")).uid, 0)
})

test("a program that uses a directory loses no right while it is locked and given back", async () => {
  using root = filesRoot()
  for (const path of lockedPaths) chmodSync(root.at(path), 0o700)
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  const used = `'${root.at("users/ann/data/set")}'`
  const program = spawn("sh", ["-c", `while cd ${used} && cd /; do :; done`], { uid, gid: uid, stdio: "ignore" })
  try {
    for (let n = 0; n < 200 && program.exitCode === null; n += 1) {
      await locks.lock([mount], "ann")
      await locks.unlock([mount.source], "ann", () => [])
    }
    assert.equal(program.exitCode, null, "it could not enter the directory")
  } finally {
    program.kill()
  }
})

test("a start with many long paths delays neither the locks of another one nor their end", async () => {
  using root = filesRoot()
  const long = Array.from({ length: 20 }, (_, i) => `/users/ann/data/set/${i}${"/d".repeat(100)}`)
  for (const path of long) mkdirSync(root.at(path), { recursive: true })
  spawnSync("chown", ["-R", `${uid}:${uid}`, root.at("users/ann/data/set")])
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  const mounts = long.map((source) => ({ ...mount, source }))
  const ended: string[] = []
  const note = (name: string) => () => void ended.push(name)
  mkdirSync(root.at("users/bob"))
  const short = { ...mount, source: "/users/bob" }
  await Promise.all([locks.lock(mounts, "ann").then(note("long")), locks.lock([short], "ann").then(note("short"))])
  const none = () => []
  await Promise.all([locks.unlock(long, "ann", none).then(note("long")), locks.unlock([short.source], "ann", none).then(note("short"))])
  assert.deepEqual(ended, ["short", "long", "short", "long"])
  assert.equal(statSync(root.at(long[0] ?? "")).uid, uid)
})

test("starts of one person that lock long paths at once have few directories open", async () => {
  using root = filesRoot()
  const long = Array.from({ length: 12 }, (_, i) => `/users/ann/data/set/${i}${"/d".repeat(150)}`)
  for (const path of long) mkdirSync(root.at(path), { recursive: true })
  spawnSync("chown", ["-R", `${uid}:${uid}`, root.at("users/ann/data/set")])
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  let most = 0
  const descriptors = () => readdirSync("/proc/self/fd").length
  const before = descriptors()
  const timer = setInterval(() => (most = Math.max(most, descriptors() - before)), 1)
  await Promise.all(long.map((source) => locks.lock([{ ...mount, source }], "ann")))
  await Promise.all(long.map((source) => locks.unlock([source], "ann", () => [])))
  clearInterval(timer)
  assert.ok(most > 100 && most < 900, `${most} were open`)
})

test("locks of paths share the turns of their person's look-ups", async () => {
  using root = filesRoot()
  const long = `/users/bob${"/d".repeat(20)}`
  mkdirSync(root.at(long), { recursive: true })
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  const turns = await Promise.all(Array.from({ length: bounds.containers.mountPinsOfPerson.value }, () => mountTurns.acquire("ann")))
  let isLocked = false
  const locking = locks.lock([mount], "ann").then(() => (isLocked = true))
  await locks.lock([{ ...mount, source: long }], "bob")
  assert.equal(isLocked, false)
  for (const turn of turns) turn[Symbol.dispose]()
  await locking
})

test("the long paths of starts take little memory while they are locked", async () => {
  using root = filesRoot()
  const locks = new MountLocks({ filesRoot: root.path, uid, gid: uid })
  const mounts = Array.from({ length: 200 }, (_, i) => ({ ...mount, source: `/users/${i}${"/fourteen-chars".repeat(250)}` }))
  const before = process.memoryUsage().heapUsed
  const locking = locks.lock(mounts, "ann")
  const unlocking = locks.unlock(["/users/ann"], "bob", () => mounts.map(({ source }) => source))
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(process.memoryUsage().heapUsed - before < 40 * 2 ** 20)
  await assert.rejects(locking, { code: "mount_missing" })
  await unlocking
})
