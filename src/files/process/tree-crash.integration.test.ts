import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, test } from "node:test"
import { Failure } from "#contract"
import type { FileTree } from "#files"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { TestFilesServer, workerPid } from "../../../test/fixtures/files/files-server.ts"

/** Enough that a copy is mostly still under way when it is told that it began. */
const [files, fileBytes] = [24, 2 ** 18]
let server: TestFilesServer
let tree: FileTree
const failures: object[] = []
const logger = { debug() {}, info() {}, warn() {}, error: (fields: object) => void failures.push(fields), child: () => logger }
// A server for each test: a worker that dies often is started again later each time.
beforeEach(async () => {
  server = await TestFilesServer.start({ runIn: "worker", logger })
  tree = server.files.tree
  writeSource("one")
})
afterEach(() => server[Symbol.asyncDispose]())

function writeSource(mark: string): void {
  mkdirSync(server.at("source"), { recursive: true })
  for (let i = 0; i < files; i += 1) writeFileSync(server.at("source", String(i)), Buffer.alloc(fileBytes, mark))
}

/** The source of a whole copy. */
function markOf(path: string): string {
  const names = readdirSync(server.at(path))
  assert.equal(names.length, files)
  const marks = names.map((name) => {
    const content = readFileSync(server.at(path, name))
    const mark = content.subarray(0, 3).toString()
    assert.ok(content.equals(Buffer.alloc(fileBytes, mark)), name)
    return mark
  })
  assert.equal(new Set(marks).size, 1)
  return marks[0] ?? ""
}

function killWorker(): void {
  const pid = workerPid()
  if (pid !== undefined) process.kill(pid, "SIGKILL")
}

/**
 * The error of a disturbed copy. A copy that was complete before the disturbance is repeated.
 */
async function disturbed(copy: () => Promise<unknown>): Promise<unknown> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    try {
      await copy()
    } catch (error) {
      return error
    }
  }
  return undefined
}

test("the next worker repeats a copy during which the worker was killed, and removes the first attempt", async () => {
  let kills = 0
  const onProgress = () => {
    if (kills > 0) return
    kills += 1
    killWorker()
  }
  const copied = await tree.copyTree("/users/ann/source", "/users/ann/copied", { onProgress })
  assert.deepEqual([kills, copied], [1, { entries: files + 1, bytes: files * fileBytes }])
  assert.equal(markOf("copied"), "one")
  await eventually("what was left is swept", () => server.unfinished().length === 0)
})

test("a copy during which three workers die is rejected and leaves the old files, and the next copy succeeds", async () => {
  const refusal = await disturbed(async () => {
    writeSource("one")
    await tree.copyTree("/users/ann/source", "/users/ann/copied")
    writeSource("two")
    await tree.copyTree("/users/ann/source", "/users/ann/copied", { onProgress: killWorker })
  })
  assert.ok(refusal instanceof Failure && refusal.code === "unavailable" && refusal.status === 503, String(refusal))
  assert.equal(markOf("copied"), "one")
  await tree.copyTree("/users/ann/source", "/users/ann/copied")
  assert.equal(markOf("copied"), "two")
  await eventually("what was left is swept", () => server.unfinished().length === 0)
})

test("the next worker performs the small operations that a killed one left, and none is lost", async () => {
  const works = Array.from({ length: 50 }, (_, i) => tree.ensureDirectory(`/users/ann/many/${i}/x`))
  killWorker()
  await Promise.all(works)
  assert.equal(readdirSync(server.at("many")).length, 50)
  killWorker()
  assert.equal(await tree.exists("/users/ann/many/49/x"), true)
})

test("a cancelled copy ends and leaves nothing", async () => {
  const ended = await disturbed(async () => {
    const controller = new AbortController()
    const onProgress = () => controller.abort(new Error("gone away"))
    await tree.copyTree("/users/ann/source", "/users/ann/unwanted", { signal: controller.signal, onProgress })
    await tree.removeTree("/users/ann/unwanted")
  })
  assert.match(String(ended), /gone away/)
  assert.deepEqual([existsSync(server.at("unwanted")), server.unfinished()], [false, []])
  const signal = AbortSignal.abort(new Error("gone away"))
  await assert.rejects(tree.copyTree("/users/ann/source", "/users/ann/unwanted", { signal }), /gone away/)
})

test("a worker that is killed at any moment of a copy leaves the whole old directory or the whole new one", async () => {
  writeSource("old")
  await tree.copyTree("/users/ann/source", "/users/ann/replaced")
  for (let round = 0; round < 4; round += 1) {
    const mark = round % 2 === 0 ? "new" : "old"
    writeSource(mark)
    // Watched from outside: the kill comes as near to the exchange as it can.
    const before = statSync(server.at("replaced")).ino
    const copying = tree.copyTree("/users/ann/source", "/users/ann/replaced")
    await eventually("it is about to be replaced, or has been", () => server.unfinished().length > 0 || inodeOf("replaced") !== before)
    if (round % 3 > 0) await eventually("it is being replaced", () => inodeOf("replaced") !== before)
    killWorker()
    await copying
    assert.equal(markOf("replaced"), mark)
  }
  await eventually("what was left is swept", () => server.unfinished().length === 0)
})

function inodeOf(name: string): number | undefined {
  return statSync(server.at(name), { throwIfNoEntry: false })?.ino
}

test("after the main process is killed during copies, the next one on the same root finds a whole copy and sweeps the rest", async () => {
  writeSource("old")
  await tree.copyTree("/users/ann/source", "/users/ann/killed")
  for (let round = 0; round < 2; round += 1) {
    const program = spawn(
      process.execPath,
      ["test/fixtures/files/copying.program.ts", server.root, "/users/ann/source", "/users/ann/killed"],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    )
    for (let reportCount = 0; reportCount <= round * 4; reportCount += 1) await once(program.stdout, "data")
    const ended = once(program, "exit")
    program.kill("SIGKILL")
    await ended
    killWorker()
    assert.equal(await tree.exists("/users/ann/killed"), true)
    await eventually("what was left is swept", () => server.unfinished().length === 0)
    assert.equal(markOf("killed"), "old")
  }
  await eventually("only its own folder is there", () => readdirSync(join(server.root, ".quayside/work")).length === 1)
})
