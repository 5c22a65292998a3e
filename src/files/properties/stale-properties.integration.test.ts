import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { Yielder } from "#kit"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { PathLocks } from "../requests/path-locks.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { DeadProperties } from "./dead-properties.ts"
import { StaleProperties } from "./stale-properties.ts"

/* Programs delete and rename files without a request, and the main process whole trees. */

const patch = (value: string) => `<propertyupdate xmlns="DAV:"><set><prop><note xmlns="urn:x">${value}</note></prop></set></propertyupdate>`
const large = patch("v".repeat(60_000))

describe("properties of entries that are gone", () => {
  let server: TestFilesServer
  before(async () => {
    server = await TestFilesServer.start()
    server.authority.add("cid")
  })
  after(() => server[Symbol.asyncDispose]())

  const proppatch = (path: string, body = large, user = "ann") => server.ask("PROPPATCH", path, { user, body })
  const noteOf = async (path: string, user = "ann") => {
    const { text } = await server.ask("PROPFIND", path, { user, headers: { depth: "0" } })
    return /<(?:\w+:)?note[^>]*>([^<]*)</.exec(text)?.[1]
  }

  /** Makes files with properties until one is refused, and returns the number of the others. */
  async function fill(user: string, directory: string, most = Number.POSITIVE_INFINITY): Promise<number> {
    const path = `/users/${user}/${directory}`
    mkdirSync(join(server.root, path), { recursive: true })
    for (let i = 0; i < most; i += 1) {
      writeFileSync(join(server.root, path, String(i)), "")
      if ((await proppatch(`${path}/${i}`, large, user)).status === 507) return i
    }
    return most
  }

  test("they make room in a full budget, but are not looked for again and again", async () => {
    const count = await fill("bob", "folder")
    writeFileSync(server.at("kept"), "")
    await proppatch("/users/ann/kept", patch("kept"))
    assert.equal(await fill("ann", "folder", count), count)
    renameSync(server.at("folder/0"), server.at("renamed"))
    rmSync(server.at("folder"), { recursive: true })
    assert.equal((await proppatch("/users/ann/renamed")).status, 207)
    assert.equal(await noteOf("/users/ann/kept"), "kept")
    assert.equal(await fill("ann", "folder"), count - 1)
    rmSync(server.at("folder"), { recursive: true })
    assert.equal((await proppatch("/users/ann/kept")).status, 507)
  })

  test("no next entry gets those of a tree that was removed, replaced or moved", async () => {
    const { tree } = server.files
    const home = "/users/cid"
    const make = async (name: string) => {
      await tree.ensureDirectory(`${home}/${name}`)
      assert.equal((await proppatch(`${home}/${name}`, patch(name), "cid")).status, 207)
    }
    for (const name of ["removed", "empty", "replaced", "moved"]) await make(name)
    await tree.removeTree(`${home}/removed`)
    await tree.removeEmptyDirectory(`${home}/empty`)
    await tree.ensureDirectory(`${home}/source`)
    await tree.copyTree(`${home}/source`, `${home}/replaced`)
    await tree.move(`${home}/moved`, `${home}/new`)
    assert.equal(await noteOf(`${home}/new`, "cid"), "moved")
    for (const name of ["removed", "empty", "moved"]) await tree.ensureDirectory(`${home}/${name}`)
    for (const name of ["removed", "empty", "replaced", "moved"]) assert.equal(await noteOf(`${home}/${name}`, "cid"), undefined, name)
  })
})

test("an entry that a request is just moving keeps its properties", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "quayside-properties-"))
  t.after(() => rmSync(folder, { recursive: true }))
  mkdirSync(join(folder, ".quayside"))
  using root = DirectoryHandle.open(folder)
  await using properties = new DeadProperties(root)
  const locks = new PathLocks()
  await properties.patch("/sets/moved", [{ key: "k", value: "" }])
  await properties.patch("/sets/gone", [{ key: "k", value: "" }])
  const moving = await locks.acquire([["sets", "moved"]])
  const checking = new StaleProperties(properties, locks).removeAround("/sets/moved", {
    root: TreeDirectory.of(root, 1),
    yielder: new Yielder(),
  })
  await pause(50)
  mkdirSync(join(folder, "sets/moved"), { recursive: true })
  moving[Symbol.dispose]()
  await checking
  assert.deepEqual(
    [...((await properties.all()) ?? [])].map(([path]) => path),
    ["/sets/moved"],
  )
})
