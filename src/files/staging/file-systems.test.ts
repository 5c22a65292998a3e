import assert from "node:assert/strict"
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, owner, TestFilesServer, workerPid } from "../../../test/fixtures/files/files-server.ts"
import { mayMount, mount as mountTmpfs } from "../../../test/fixtures/mount.ts"

const skip = !mayMount() && "this process may not mount file systems"

const mount = (path: string, size: string) => mountTmpfs(path, { size, ...owner })

/** Everything that can be made is made: nothing new has a place. */
function useUp(root: string): void {
  mkdirSync(join(root, "filling"))
  for (let n = 0; ; n += 1) {
    try {
      writeFileSync(join(root, "filling", String(n)), "")
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC")
      return
    }
  }
}

test("a full disk refuses an upload and keeps the old file until there is room", { skip }, async () => {
  await using server = await TestFilesServer.start({ runIn: "worker", prepare: (root) => mount(root, "3m,nr_inodes=64") })
  assert.equal((await server.ask("PUT", "/users/ann/f", { body: "old" })).status, 201)
  for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
    const refused = await server.ask("PUT", "/users/ann/f", { body: Buffer.alloc(4_000_000), headers })
    assert.equal(refused.status, 507)
    assert.equal(JSON.parse(refused.text).code, "storage_full")
  }
  assert.equal((await server.ask("GET", "/users/ann/f")).text, "old")
  await eventually("nothing is left", () => server.unfinished().length === 0)
  server.makeDirectory("users/bob/folder")
  useUp(server.root)
  assert.equal((await server.ask("DELETE", "/users/bob/folder", { user: "bob" })).status, 204)
  assert.equal(existsSync(join(server.root, "users/bob/folder")), false)
  rmSync(join(server.root, "filling"), { recursive: true })
  await server.ask("PUT", "/users/ann/big", { body: Buffer.alloc(2_000_000) })
  assert.equal((await server.ask("COPY", "/users/ann/big", { headers: { destination: "/users/ann/big2" } })).status, 507)
  await eventually("nothing is left", () => server.unfinished().length === 0)
  assert.equal((await server.ask("DELETE", "/users/ann/big")).status, 204)
  assert.equal((await server.ask("PUT", "/users/ann/f", { body: Buffer.alloc(2_000_000) })).status, 204)
})

test("a file server starts on a full disk, serves and deletes files, and accepts uploads once there is room", { skip }, async () => {
  const prepare = (root: string) => {
    const undo = mount(root, "3m,nr_inodes=64")
    for (const path of ["users/ann", "users/bob", ".quayside/work"]) mkdirSync(join(root, path), { recursive: true })
    for (const path of ["users", "users/ann", ".quayside", ".quayside/work"]) chownSync(join(root, path), owner.uid, owner.gid)
    for (const name of ["f", "g", "h"]) writeFileSync(join(root, "users/ann", name), name)
    useUp(root)
    return undo
  }
  // Nothing is kept free: what is tried is the very last room.
  const storage = { reserveBytes: 0, minFreeInodes: 0 }
  await using server = await TestFilesServer.start({ runIn: "worker", prepare, storage })
  assert.equal((await server.ask("GET", "/users/ann/f")).text, "f")
  assert.equal((await server.ask("PROPFIND", "/users/ann", { headers: { depth: "1" } })).status, 207)
  assert.equal((await server.ask("PUT", "/users/ann/new", { body: "new" })).status, 507)
  for (const name of ["f", "g", "h"]) assert.equal((await server.ask("DELETE", `/users/ann/${name}`)).status, 204)
  assert.deepEqual(readdirSync(server.at()), [])
  assert.equal((await server.ask("PUT", "/users/ann/new", { body: "new" })).status, 201)
  assert.equal((await server.ask("GET", "/users/ann/new")).text, "new")
})

test("a directory on another file system works like any other", { skip }, async () => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await TestFilesServer.start({ runIn: "worker" }))
  server.makeDirectory("users/ann/disk")
  const unmount = mount(server.at("disk"), "20m")
  stack.defer(unmount)
  const request = async (method: string, path: string, destination?: string, body: string | Buffer = "") =>
    (await server.ask(method, `/users/ann/${path}`, { body, headers: destination ? { destination: `/users/ann/${destination}` } : {} }))
      .status
  assert.equal(await request("PUT", "disk/f", undefined, "1"), 201)
  assert.equal(await request("PUT", "disk/f", undefined, "2"), 204)
  assert.equal(await request("MKCOL", "disk/d"), 201)
  assert.equal(await request("COPY", "disk/f", "disk/d/f"), 201)
  assert.equal(await request("MOVE", "disk/d", "here"), 201)
  assert.equal(readFileSync(server.at("here/f"), "utf8"), "2")
  assert.equal(existsSync(server.at("disk/d")), false)
  assert.equal(await request("MOVE", "here", "disk/there"), 201)
  assert.equal(await request("COPY", "disk/there", "disk/there2"), 201)
  assert.equal(await request("COPY", "disk/there", "disk/there2"), 204)
  assert.equal(readFileSync(server.at("disk/there2/f"), "utf8"), "2")
  assert.equal(await request("DELETE", "disk/there"), 204)
  assert.equal(await request("DELETE", "disk"), 423)
  await eventually("nothing is left", () => server.unfinished().length === 0 && readdirSync(server.at("disk")).length === 2)
  assert.deepEqual(readdirSync(server.at("disk")).toSorted(), ["f", "there2"])
})

test("a killed worker's leftovers on another file system are swept", { skip }, async () => {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await TestFilesServer.start({ runIn: "worker" }))
  const unmount = mount(server.at("disk"), "20m")
  stack.defer(unmount)
  writeFileSync(server.at("disk/kept"), "")
  const upload = await server.raw()
  upload.write(`PUT /users/ann/disk/f HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nContent-Length: 500000\r\n\r\n`)
  upload.write(Buffer.alloc(300_000))
  await eventually("the upload began", () => readdirSync(server.at("disk")).length === 2)
  const listed = await server.ask("PROPFIND", "/users/ann/disk", { headers: { depth: "1" } })
  assert.doesNotMatch(listed.text, /quayside/)
  const [beside = ""] = readdirSync(server.at("disk")).filter((name) => name !== "kept")
  assert.equal((await server.ask("GET", `/users/ann/disk/${beside}`)).status, 404)
  const pid = workerPid()
  assert.ok(pid)
  process.kill(pid, "SIGKILL")
  await eventually("it is swept", () => readdirSync(server.at("disk")).join() === "kept")
})
