import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { basic, TestFilesServer, type TestResponse } from "../../../test/fixtures/files/files-server.ts"

/* Bob locks an entry of a dataset of ann's, and then loses his right: the lock must not count. */

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
  server.makeDirectory("data/ours/above")
})
after(() => server[Symbol.asyncDispose]())

const dataset = "/data/ours"
const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
const patchBody = '<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y"/></prop></set></propertyupdate>'

type Level = "read" | "write" | undefined
function setRight(name: string, level: Level): void {
  const rights = server.authority.people.get(name)?.rights
  if (level) rights?.set(dataset, level)
  else rights?.delete(dataset)
  server.files.invalidate()
}

/** Both may write, and the file `above/f` is there without locks. */
async function prepare(): Promise<void> {
  for (const name of ["ann", "bob"]) setRight(name, "write")
  await server.ask("DELETE", `${dataset}/moved`)
  await server.ask("MKCOL", `${dataset}/above`)
  await server.ask("PUT", `${dataset}/above/f`, { body: "1" })
}

async function lockAsBob(path: string): Promise<string> {
  const headers = { timeout: "Infinite", depth: path.endsWith("/f") ? "0" : "infinity" }
  const lock = await server.ask("LOCK", `${dataset}/${path}`, { user: "bob", body: lockBody, headers })
  assert.ok([200, 201].includes(lock.status), lock.text)
  return String(lock.headers["lock-token"])
}

/** How ann changes the entry, or the directory that holds it. */
const changes: Record<string, () => Promise<TestResponse>> = {
  PUT: () => server.ask("PUT", `${dataset}/above/f`, { body: "2" }),
  "PUT of a new file beside": () => server.ask("PUT", `${dataset}/above/new`, { body: "2" }),
  PROPPATCH: () => server.ask("PROPPATCH", `${dataset}/above/f`, { body: patchBody }),
  LOCK: () => server.ask("LOCK", `${dataset}/above`, { body: lockBody, headers: { timeout: "Second-1" } }),
  "COPY over it": () => server.ask("COPY", "/users/ann/source", { headers: { destination: `${dataset}/above/f` } }),
  "MOVE of the directory": () => server.ask("MOVE", `${dataset}/above`, { headers: { destination: `${dataset}/moved` } }),
  "DELETE of the directory": () => server.ask("DELETE", `${dataset}/above`),
}

for (const [what, change] of Object.entries(changes)) {
  for (const level of ["read", undefined] as const) {
    test(`${what} succeeds past a lock whose holder has ${level ? `only ${level}` : "no right"} left`, async () => {
      await server.ask("PUT", "/users/ann/source", { body: "s" })
      for (const locked of what.includes("beside") ? ["above"] : ["above", "above/f"]) {
        await prepare()
        const token = await lockAsBob(locked)
        assert.equal((await change()).status, 423, "while the holder may write, the lock binds")
        setRight("bob", level)
        const changed = await change()
        assert.ok([200, 201, 204, 207].includes(changed.status), `${changed.status} ${changed.text}`)
        const own = /<D:href>(urn:uuid:[^<]*)/.exec(changed.text)?.[1]
        if (own) await server.ask("UNLOCK", `${dataset}/above`, { headers: { "lock-token": `<${own}>` } })
        setRight("bob", "write")
        const late = await server.ask("UNLOCK", `${dataset}/${locked}`, { user: "bob", headers: { "lock-token": token } })
        assert.ok([404, 409].includes(late.status), `the lock is gone: ${late.status}`)
      }
    })
  }
}

test("a listing shows no lock whose holder lost the right", async () => {
  const listed = async (path: string, depth: string) => (await server.ask("PROPFIND", dataset + path, { headers: { depth } })).text
  for (const [path, depth] of [
    ["/above/f", "0"],
    ["/above/", "1"],
    ["/", "infinity"],
  ] as const) {
    await prepare()
    const token = (await lockAsBob("above/f")).slice(1, -1)
    assert.ok((await listed(path, depth)).includes(token), "it is shown while it counts")
    setRight("bob", "read")
    assert.ok(!(await listed(path, depth)).includes(token), `${path} ${depth}`)
  }
})

test("the token of a stale lock satisfies no condition", async () => {
  await prepare()
  const token = await lockAsBob("above/f")
  const request = () => server.ask("PUT", "/users/ann/own", { body: "1", headers: { if: `<${dataset}/above/f> (${token})` } })
  assert.equal((await request()).status, 201)
  setRight("bob", "read")
  assert.equal((await request()).status, 412)
})

for (const [method, body] of [
  ["LOCK", lockBody],
  ["PROPPATCH", patchBody],
] as const) {
  test(`${method} is refused when the right is withdrawn before the body is complete`, async () => {
    await prepare()
    const connection = await server.raw()
    const head = `${method} ${dataset}/above/new HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("bob")}\r\n`
    connection.write(`${head}Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`)
    await connection.until("100 Continue")
    setRight("bob", "read")
    connection.write(body)
    assert.match(await connection.until("\r\n\r\n{"), /HTTP\/1.1 403 /)
    connection.socket.destroy()
  })
}

test("the owner of a place releases anybody's lock there, and other guests do not", async () => {
  for (const guest of ["guest", "other-guest"]) server.authority.add(guest, { "/users/ann": "write" })
  await server.ask("PUT", "/users/ann/shared", { body: "1" })
  const lock = await server.ask("LOCK", "/users/ann/shared", { user: "guest", body: lockBody, headers: { depth: "0" } })
  const headers = { "lock-token": String(lock.headers["lock-token"]) }
  const release = (user: string) => server.ask("UNLOCK", "/users/ann/shared", { user, headers })
  assert.equal((await server.ask("PUT", "/users/ann/shared", { body: "2" })).status, 423)
  assert.equal((await release("other-guest")).status, 403)
  assert.equal((await release("ann")).status, 204)
  assert.equal((await server.ask("PUT", "/users/ann/shared", { body: "2" })).status, 204)
})
