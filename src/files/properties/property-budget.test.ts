import assert from "node:assert/strict"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { bounds } from "#contract"
import { Yielder } from "#kit"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { smallDisk } from "../../../test/fixtures/files/small-disk.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { DeadProperties } from "./dead-properties.ts"
import { budgetOwner } from "./property-table.ts"

/*
 * Stored properties have a budget for each owner's tree: nobody uses up another one's, and removing
 * always works.
 */

const { storedPropertyBytes, storedProperties } = bounds.files

/** Properties below a root of their own. */
function open(folder = mkdtempSync(join(tmpdir(), "quayside-properties-"))) {
  mkdirSync(join(folder, ".quayside"), { recursive: true })
  const root = DirectoryHandle.open(folder)
  const properties = new DeadProperties(root)
  const dispose = async () => {
    await properties[Symbol.asyncDispose]()
    root[Symbol.dispose]()
    rmSync(folder, { recursive: true, force: true })
  }
  return { folder, properties, [Symbol.asyncDispose]: dispose }
}

const large = { key: "urn:x large", value: "v".repeat(60_000) }

/** Stores large properties until one is refused; returns how many there are. */
async function fill(properties: DeadProperties, folder: string): Promise<number> {
  for (let i = 0; ; i += 1) {
    try {
      await properties.patch(`${folder}/${i}`, [large])
    } catch (error) {
      assert.equal((error as { code?: string }).code, "storage_full")
      return i
    }
  }
}

test("a path's properties count for its home or its top directory", () => {
  assert.equal(budgetOwner("/users/ann"), "/users/ann")
  assert.equal(budgetOwner("/users/ann/a/b"), "/users/ann")
  assert.equal(budgetOwner("/sets/a/b"), "/sets")
  assert.equal(budgetOwner("/users"), "/users")
  assert.equal(budgetOwner("/"), "/")
})

test("one owner's full budget does not limit another's", async () => {
  await using it = open()
  const count = await fill(it.properties, "/users/ann")
  assert.ok(count * 60_000 <= storedPropertyBytes.value && (count + 1) * 60_200 > storedPropertyBytes.value, `${count}`)
  assert.equal(await fill(it.properties, "/users/bob"), count)
  await assert.rejects(() => it.properties.patch("/users/ann/deep/er", [large]), { code: "storage_full" })
  await it.properties.patch("/sets/a", [large])
})

test("the number of properties is bounded, too", async () => {
  await using it = open()
  for (let i = 0; i * 250 < storedProperties.value; i += 1) {
    const changes = Array.from({ length: 250 }, (_, n) => ({ key: `k ${n}`, value: "" }))
    await it.properties.patch(`/users/ann/${i}`, changes)
  }
  await assert.rejects(() => it.properties.patch("/users/ann/x", [{ key: "k x", value: "" }]), { code: "storage_full" })
  await it.properties.patch("/users/ann/1", [{ key: "k 1", value: "another" }])
})

test("with a full budget properties can be removed, replaced by shorter ones, moved and deleted", async () => {
  await using it = open()
  await fill(it.properties, "/users/ann")
  const refused = () => assert.rejects(() => it.properties.patch("/users/ann/too-much", [large]), { code: "storage_full" })
  await it.properties.patch("/users/ann/0", [{ key: large.key, value: "short" }])
  await it.properties.patch("/users/ann/new", [large])
  await refused()
  await it.properties.patch("/users/ann/1", [{ key: large.key, value: null }])
  await it.properties.patch("/users/ann/1", [large])
  await refused()
  await it.properties.move("/users/ann/2", "/users/ann/a-longer-name-than-before")
  assert.equal((await it.properties.all())?.get("/users/ann/a-longer-name-than-before")?.size, 1)
  await it.properties.remove("/users/ann/3")
  await it.properties.patch("/users/ann/3", [large])
  await refused()
})

async function copy(properties: DeadProperties, path: string, to: string): Promise<void> {
  await using staged = await properties.stageCopy({ path, to, deep: true }, new Yielder())
  await properties.move(staged.path, to)
}

test("copied and moved properties count for the new owner, and are lost if they exceed the budget", async () => {
  await using it = open()
  const count = await fill(it.properties, "/users/ann/d")
  await copy(it.properties, "/users/ann/d/0", "/users/ann/copy")
  assert.equal((await it.properties.all())?.get("/users/ann/copy") !== undefined, false)
  await copy(it.properties, "/users/ann/d", "/users/bob/d")
  assert.equal((await it.properties.all())?.get("/users/bob/d/0") !== undefined, true)
  await assert.rejects(() => it.properties.patch("/users/bob/new", [large]), { code: "storage_full" })
  await it.properties.move("/users/ann/d/1", "/users/bob/moved")
  assert.equal((await it.properties.all())?.get("/users/bob/moved") !== undefined, false)
  assert.equal((await it.properties.all())?.get("/users/ann/d/1") !== undefined, false)
  await it.properties.patch("/users/ann/d/1", [large])
  assert.equal([...((await it.properties.all()) ?? [])].length, 2 * count)
  await using next = new DeadProperties(DirectoryHandle.open(it.folder))
  assert.equal([...((await next.all()) ?? [])].length, 2 * count, "the next process knows the same")
  await assert.rejects(() => next.patch("/users/ann/new", [large]), { code: "storage_full" })
})

const skip = process.getuid?.() !== 0 && "needs the right to mount"

test("properties are removed on a full disk", { skip }, async () => {
  await using disk = await smallDisk(256)
  mkdirSync(join(disk.path, ".quayside"))
  using root = DirectoryHandle.open(disk.path)
  await using properties = new DeadProperties(root)
  await properties.patch("/users/ann/a", [{ key: "k a", value: "a" }])
  disk.fillUp()
  const long = "k".repeat(100_000)
  await properties.patch("/users/ann/a", [
    { key: "k a", value: null },
    { key: long, value: null },
  ])
  assert.equal(await properties.all(), undefined)
  await disk.makeRoom()
  await properties.patch("/users/ann/b", [{ key: "k b", value: "b" }])
  await using next = new DeadProperties(root)
  assert.deepEqual(
    [...((await next.all()) ?? [])].map(([path]) => path),
    ["/users/ann/b"],
  )
})

test("a person with a full budget gets 507 and can remove properties, and others can store theirs", async () => {
  await using server = await TestFilesServer.start()
  const value = "v".repeat(60_000)
  const set = (name: string, content = value) =>
    `<propertyupdate xmlns="DAV:"><set><prop><${name} xmlns="urn:x">${content}</${name}></prop></set></propertyupdate>`
  const patch = (user: string, path: string, body: string) => server.ask("PROPPATCH", path, { user, body })
  let status = 207
  let files = 0
  for (; status === 207; files += 1) {
    await server.ask("PUT", `/users/ann/${files}`, { body: "" })
    status = (await patch("ann", `/users/ann/${files}`, set("c"))).status
  }
  assert.equal(status, 507)
  await server.ask("PUT", "/users/bob/f", { user: "bob", body: "" })
  assert.equal((await patch("bob", "/users/bob/f", set("c"))).status, 207)
  const remove = '<propertyupdate xmlns="DAV:"><remove><prop><c xmlns="urn:x"/></prop></remove></propertyupdate>'
  assert.equal((await patch("ann", "/users/ann/0", remove)).status, 207)
  assert.equal((await patch("ann", "/users/ann/0", set("c"))).status, 207)
  assert.equal((await patch("ann", "/users/ann/0", set("d"))).status, 507)
  assert.equal((await server.ask("DELETE", "/users/ann/1")).status, 204)
  assert.equal((await patch("ann", "/users/ann/0", set("d"))).status, 207)
})

test("somebody with a right to write leaves the owner half of the budget, and every removal", async () => {
  await using server = await TestFilesServer.start()
  server.authority.add("guest", { "/users/ann": "write" })
  const value = "v".repeat(60_000)
  const store = async (i: number, user: string) => {
    await server.ask("PUT", `/users/ann/${i}`, { user, body: "" })
    const body = `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y">${value}</x></prop></set></propertyupdate>`
    return (await server.ask("PROPPATCH", `/users/ann/${i}`, { user, body })).status
  }
  let count = 0
  while ((await store(count, "guest")) === 207) count += 1
  assert.ok(count * 60_000 <= storedPropertyBytes.value / 2 && (count + 1) * 60_200 > storedPropertyBytes.value / 2, `${count}`)
  const copied = await server.ask("COPY", "/users/ann/0", { user: "guest", headers: { destination: "/users/ann/copy" } })
  assert.equal(copied.status, 201)
  const names = await server.ask("PROPFIND", "/users/ann/copy", { headers: { depth: "0" } })
  assert.ok(!names.text.includes("vvv"), "a guest's copy has no properties that do not fit")
  assert.equal(await store(count, "ann"), 207)
})
