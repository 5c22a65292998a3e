import assert from "node:assert/strict"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { after, before, suite, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { TestFilesServer, type TestRequest } from "../../../test/fixtures/files/files-server.ts"
import type { IdentifyOptions } from "../access/authority.ts"
import { PropertyLog } from "../properties/property-log.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { PathLocks } from "./path-locks.ts"

/*
 * A change waits for earlier ones of the same entry, perhaps for long. Here bob's waits for one of
 * ann, which the authority keeps waiting.
 */

const lock = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
const patch = '<propertyupdate xmlns="DAV:"><set><prop><a xmlns="x:">1</a></prop></set></propertyupdate>'

const changes: [method: string, path: string, options?: TestRequest][] = [
  ["PUT", "/users/ann/shared/file", { body: "x" }],
  ["DELETE", "/users/ann/shared/file"],
  ["MKCOL", "/users/ann/shared/new"],
  ["MOVE", "/users/ann/shared/file", { headers: { destination: "/users/ann/shared/new" } }],
  ["COPY", "/users/ann/shared/file", { headers: { destination: "/users/ann/shared/new" } }],
  ["PROPPATCH", "/users/ann/shared/file", { body: patch }],
  ["LOCK", "/users/ann/shared/file", { body: lock }],
]

suite("a change that waits for another one", () => {
  let server: TestFilesServer
  let held: PromiseWithResolvers<void>
  let isHeld = false
  let isBobKnown = true

  before(async () => {
    server = await TestFilesServer.start()
    const { authority } = server
    const identify = authority.identify.bind(authority)
    authority.identify = async (authorization, address, ...[options]: [IdentifyOptions?]) => {
      const found = await identify(authorization, address)
      if (options?.begunAs && found.ok && found.userName === "ann") {
        isHeld = true
        await held.promise
      }
      return found.ok && found.userName === "bob" && !isBobKnown ? identify(undefined, address) : found
    }
    server.makeDirectory("users/ann/shared")
  })
  after(() => server[Symbol.asyncDispose]())

  for (const [method, path, options] of changes)
    for (const ending of ["right", "credential"] as const)
      test(`${method} is refused if the ${ending} ended meanwhile`, async () => {
        writeFileSync(server.at("shared/file"), "old")
        rmSync(server.at("shared/new"), { force: true })
        held = Promise.withResolvers()
        isHeld = false
        isBobKnown = true
        server.authority.people.get("bob")?.rights.set("/users/ann/shared", "write")
        server.files.invalidate()
        const first = server.ask("PUT", String(options?.headers?.destination ?? path), { body: "ann's" })
        await eventually("ann's change has begun", () => isHeld)
        const second = server.ask(method, path, { ...options, user: "bob" })
        await pause(50)
        if (ending === "right") server.authority.people.get("bob")?.rights.delete("/users/ann/shared")
        else isBobKnown = false
        server.files.invalidate()
        held.resolve()
        await first
        assert.equal((await second).status, ending === "right" ? 404 : 401)
      })

  for (const [method, path, options] of changes)
    test(`${method} is refused if the right ends during its look-ups`, async (t) => {
      writeFileSync(server.at("shared/file"), "old")
      rmSync(server.at("shared/new"), { force: true, recursive: true })
      isBobKnown = true
      server.authority.people.get("bob")?.rights.set("/users/ann/shared", "write")
      server.files.invalidate()
      let isLocked = false
      const { acquire } = PathLocks.prototype
      t.mock.method(PathLocks.prototype, "acquire", async function (this: PathLocks, ...given: Parameters<typeof acquire>) {
        isLocked = true
        return await acquire.apply(this, given)
      })
      const { openDescendant } = TreeDirectory.prototype
      t.mock.method(TreeDirectory.prototype, "openDescendant", async function (this: TreeDirectory, names: readonly string[]) {
        if (isLocked) {
          server.authority.people.get("bob")?.rights.delete("/users/ann/shared")
          server.files.invalidate()
        }
        return await openDescendant.call(this, names)
      })
      assert.equal((await server.ask(method, path, { ...options, user: "bob" })).status, 404)
      assert.equal(readFileSync(server.at("shared/file"), "utf8"), "old")
      assert.equal(existsSync(server.at("shared/new")), false)
    })

  for (const ending of ["right", "credential"] as const)
    test(`PROPPATCH is refused if the ${ending} ends while it waits for changes of other properties`, async (t) => {
      writeFileSync(server.at("shared/file"), "old")
      isBobKnown = true
      server.authority.people.get("bob")?.rights.set("/users/ann/shared", "write")
      server.files.invalidate()
      const { acquire } = PropertyLog.prototype
      t.mock.method(PropertyLog.prototype, "acquire", async function (this: PropertyLog, ...given: Parameters<typeof acquire>) {
        if (ending === "right") server.authority.people.get("bob")?.rights.delete("/users/ann/shared")
        else isBobKnown = false
        server.files.invalidate()
        return await acquire.apply(this, given)
      })
      assert.equal(
        (await server.ask("PROPPATCH", "/users/ann/shared/file", { body: patch, user: "bob" })).status,
        ending === "right" ? 404 : 401,
      )
      const listing = await server.ask("PROPFIND", "/users/ann/shared/file", { headers: { depth: "0" } })
      assert.equal(listing.status, 207)
      assert.doesNotMatch(listing.text, /xmlns="x:"|x:/)
    })

  test("nobody waits while the person of another PROPPATCH is authenticated again", async (t) => {
    for (const name of ["file", "other"]) writeFileSync(server.at(`shared/${name}`), "old")
    isBobKnown = true
    server.authority.people.get("bob")?.rights.set("/users/ann/shared", "write")
    server.files.invalidate()
    held = Promise.withResolvers()
    held.resolve()
    const { acquire } = PropertyLog.prototype
    const mocked = t.mock.method(PropertyLog.prototype, "acquire", function (this: PropertyLog, ...given: Parameters<typeof acquire>) {
      mocked.mock.restore()
      held = Promise.withResolvers()
      isHeld = false
      server.files.invalidate()
      return acquire.apply(this, given)
    })
    const first = server.ask("PROPPATCH", "/users/ann/shared/file", { body: patch })
    await eventually("ann is authenticated again", () => isHeld)
    const second = server.ask("PROPPATCH", "/users/ann/shared/other", { body: patch, user: "bob" })
    const { status } = await Promise.race([second, pause(5_000, { status: 0 }, { ref: false })])
    held.resolve()
    assert.deepEqual([status, (await first).status], [207, 207])
  })
})
