import assert from "node:assert/strict"
import {
  chownSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { asRoot, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

/*
 * Runs of several people have `/data/shared` mounted, and only ann's have her home. A program's
 * hold on the one (a second name, an open file, an open directory) must not reach the entries that
 * ann moves into the other.
 */

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start({ runIn: "worker" })
  server.makeDirectory("data/shared")
  for (const name of ["ann", "bob"]) server.authority.add(name, { "/data/shared": "write" })
})
after(() => server[Symbol.asyncDispose]())

const shared = (...names: string[]) => join(server.root, "data/shared", ...names)
const move = async (from: string, destination: string) => (await server.ask("MOVE", from, { headers: { destination } })).status
const inode = (path: string) => statSync(path).ino

test("other runs reach neither an entry that moves out of a shared directory nor one that moves in", async () => {
  const places = { [shared("kept")]: "/data/shared", [server.at("kept")]: "/users/ann" }
  for (const [kept, from] of Object.entries(places)) {
    const to = from === "/users/ann" ? "/data/shared" : "/users/ann"
    const at = (path: string) => join(server.root, path)
    server.makeDirectory(`${from}/d`)
    writeFileSync(at(`${from}/d/f`), "content", { mode: 0o666 })
    linkSync(at(`${from}/d/f`), kept)
    const [file, directory] = [openSync(at(`${from}/d/f`), "r+"), openSync(at(`${from}/d`), "r")]
    assert.equal(await move(`${from}/d`, `${to}/d-of-${from.length}`), 201)
    const moved = at(`${to}/d-of-${from.length}`)
    writeFileSync(kept, "planted")
    writeFileSync(`/proc/self/fd/${file}`, "planted")
    try {
      writeFileSync(`/proc/self/fd/${directory}/planted`, "")
    } catch {}
    assert.deepEqual([readdirSync(moved), readFileSync(join(moved, "f"), "utf8")], [["f"], "content"], from)
    assert.equal(existsSync(at(`${from}/d`)), false)
    for (const fd of [file, directory]) closeSync(fd)
  }
  await eventually("nothing is left", () => server.unfinished().length === 0)
})

test("a single file that moves to where other runs mount it is no hard link to a file that stays", async () => {
  writeFileSync(server.at("one"), "content", { mode: 0o666 })
  linkSync(server.at("one"), server.at("other"))
  assert.equal(await move("/users/ann/one", "/data/shared/one"), 201)
  assert.notEqual(inode(shared("one")), inode(server.at("other")))
})

test("a move into another mount preserves links, times and modes", async () => {
  mkdirSync(server.at("whole"), { mode: 0o750 })
  writeFileSync(server.at("whole/run.sh"), "#!/bin/sh\n", { mode: 0o755 })
  symlinkSync("run.sh", server.at("whole/link"))
  symlinkSync("/no/where", server.at("whole/dangling"))
  for (const name of ["whole/run.sh", "whole"]) utimesSync(server.at(name), 1_000_000_000, 1_000_000_000)
  if (asRoot) for (const name of ["whole", "whole/run.sh"]) chownSync(server.at(name), owner.uid, owner.gid)
  assert.equal(await move("/users/ann/whole", "/data/shared/whole"), 201)
  assert.deepEqual([readlinkSync(shared("whole/link")), readlinkSync(shared("whole/dangling"))], ["run.sh", "/no/where"])
  for (const name of ["whole", "whole/run.sh"]) assert.equal(statSync(shared(name)).mtimeMs, 1_000_000_000_000, name)
  assert.deepEqual([statSync(shared("whole")).mode & 0o777, statSync(shared("whole/run.sh")).mode & 0o777], [0o750, 0o755])
  assert.equal(existsSync(server.at("whole")), false)
})

test("what a program writes while its directory is copied for a move is not lost", async () => {
  server.makeDirectory("users/ann/written")
  for (let i = 0; i < 300; i += 1) writeFileSync(server.at(`written/${i}`), "x")
  const log = openSync(server.at("written/log"), "a")
  let lines = 0
  const writing = setInterval(() => {
    lines += 1
    writeSync(log, "line\n")
  }, 1)
  const answer = await server.ask("MOVE", "/users/ann/written", { headers: { destination: "/data/shared/written" } })
  clearInterval(writing)
  closeSync(log)
  assert.deepEqual([answer.status, JSON.parse(answer.text).code], [409, "conflict"])
  assert.equal(existsSync(shared("written")), false)
  assert.equal(await move("/users/ann/written", "/data/shared/written"), 201)
  assert.equal(statSync(shared("written/log")).size, lines * 5)
  await eventually("nothing is left", () => server.unfinished().length === 0)
})

test("a move within one mount keeps the inode", async () => {
  for (const [base, path] of [
    ["/users/ann", server.at()],
    ["/data/shared", shared()],
  ] as const) {
    server.makeDirectory(`${base}/here`)
    const before = inode(join(path, "here"))
    assert.equal(await move(`${base}/here`, `${base}/there`), 201)
    assert.equal(inode(join(path, "there")), before)
  }
})
