import assert from "node:assert/strict"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { createServer as createHttpServer, request } from "node:http"
import { type AddressInfo, createServer, type Socket } from "node:net"
import { after, before, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { silentLogger } from "#kit"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, relayKey, TestAuthority, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { countTurns } from "../../../test/fixtures/turns.ts"
import { FilesRelay, openingBytes } from "./relay.ts"
import { relayHeader, relaySigner } from "./relayed-address.ts"

let relayed: TestFilesServer
before(async () => {
  relayed = await TestFilesServer.start({ isRelayed: true, trustedProxies: ["127.0.0.1"], limits: { stallMs: 300 } })
})
after(() => relayed[Symbol.asyncDispose]())

const head = (method: string, path: string, more = "") =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\n${more}\r\n`

function openRelay(target: () => string | undefined): FilesRelay {
  const signer = relaySigner(relayKey)
  const authority = new TestAuthority()
  authority.add("ann")
  return new FilesRelay({ target, signer, authority, trustedProxies: [], allowedOrigin: undefined, connections: {}, logger: silentLogger })
}

/** Answers nothing, and records what it receives. */
async function recordingServer() {
  let received = ""
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}).on("data", (chunk) => (received += chunk)))
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    received: () => received,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test("the client's address arrives, and no client can claim another one", async () => {
  const ask = (headers: Record<string, string>) => relayed.ask("GET", "/users/ann/", { user: `ann:${Math.random()}`, headers })
  await ask({ "x-forwarded-for": "203.0.113.7" })
  assert.equal(relayed.authority.lastAddress, "203.0.113.7")
  for (const name of [relayHeader, "Quayside-Relay"]) {
    await ask({ "x-forwarded-for": "203.0.113.8", [name]: relaySigner(relayKey).sign("203.0.113.9") })
    assert.equal(relayed.authority.lastAddress, "203.0.113.8", `a relay accepts no ${name} from outside`)
  }
  const direct = await TestFilesServer.start({ sharing: { relayKey, confirmedWithinMs: 60_000 } })
  for (const forged of [
    "203.0.113.7",
    relaySigner(Buffer.alloc(32).toString("base64")).sign("203.0.113.7"),
    relaySigner(relayKey).sign("no address"),
  ]) {
    await direct.ask("GET", "/users/ann/", { user: `ann:${Math.random()}`, headers: { [relayHeader]: forged } })
    assert.equal(direct.authority.lastAddress, "127.0.0.1")
  }
  await direct[Symbol.asyncDispose]()
})

test("bodies of any framing arrive once and whole, and connections go on", async () => {
  const connection = await relayed.raw()
  connection.write(head("PUT", "/users/ann/chunked", "Transfer-Encoding: chunked\r\n"))
  connection.write("5\r\nhello\r\n0\r\n\r\n")
  await connection.until("201 Created")
  connection.write(`${head("DELETE", "/users/ann/chunked", "Transfer-Encoding: chunked\r\n")}5\r\nGET /\r\n0\r\n\r\n`)
  connection.write(head("GET", "/users/ann/chunked", "Connection: close\r\n"))
  const all = await connection.end()
  assert.deepEqual(all.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 201", "HTTP/1.1 204", "HTTP/1.1 404"])
  const other = await relayed.raw()
  other.write(head("PUT", "/users/ann/gzip", "Transfer-Encoding: gzip, chunked\r\n"))
  other.write("0\r\n\r\n")
  assert.match(await other.until("\r\n\r\n"), /^HTTP\/1\.1 (400|501) /)
  other.socket.destroy()
})

test("the body of a `DELETE` is sent on as its body, and not as another request", async () => {
  await using target = await recordingServer()
  const relay = openRelay(() => target.address)
  const [bound] = await relay.listen([{ host: "127.0.0.1", port: 0 }])
  const sent = request({
    host: "127.0.0.1",
    port: bound?.port,
    method: "DELETE",
    path: "/users/ann/x",
    headers: { "transfer-encoding": "chunked" },
  })
  sent.on("error", () => {})
  sent.end("GET / HTTP/1.1\r\n\r\n")
  await eventually("the relay sent the body", () => target.received().includes("GET /"))
  sent.destroy()
  await relay.close()
  assert.match(target.received(), /^transfer-encoding: chunked\r$/im)
})

test("a client that waits for `100 Continue` gets it, or the refusal", async () => {
  const connection = await relayed.raw()
  connection.write(head("PUT", "/users/ann/expected", "Content-Length: 5\r\nExpect: 100-continue\r\n"))
  await connection.until("100 Continue")
  connection.write("hello")
  await connection.until("201 Created")
  connection.socket.destroy()
  const refused = await relayed.raw()
  refused.write(head("PUT", "/users/bob/expected", "Content-Length: 5\r\nExpect: 100-continue\r\n"))
  const answer = await refused.end()
  assert.match(answer, /^HTTP\/1\.1 40[34] /)
  assert.doesNotMatch(answer, /100 Continue/)
})

test("an upload that its client leaves, or that stalls, leaves nothing", async () => {
  await using patient = await TestFilesServer.start({ isRelayed: true })
  for (const server of [patient, relayed]) {
    const upload = await server.raw()
    upload.write(head("PUT", "/users/ann/left", "Content-Length: 100000\r\n"))
    await eventually("it began", () => server.unfinished().length === 1)
    if (server === patient) upload.socket.destroy()
    await upload.end()
    await eventually("it is undone", () => server.unfinished().length === 0)
    assert.equal(existsSync(server.at("left")), false)
  }
})

test("a repeated header is judged as without a relay", async () => {
  const connection = await relayed.raw()
  connection.write(head("GET", "/users/ann/", `Authorization: ${basic("bob")}\r\nConnection: close\r\n`))
  assert.match(await connection.end(), /^HTTP\/1\.1 400 /)
})

test("one person's transfers and requests move no more in a turn than the budget", async (t) => {
  const [count, size] = [3, 4 * 1024 * 1024]
  const serving = createHttpServer((incoming, response) => {
    incoming.resume().on("end", () => response.end(incoming.method === "GET" ? Buffer.alloc(size) : "stored"))
  })
  serving.listen(0, "127.0.0.1")
  await once(serving, "listening")
  const relay = openRelay(() => `127.0.0.1:${(serving.address() as AddressInfo).port}`)
  t.after(async () => {
    serving.closeAllConnections()
    serving.close()
    await relay.close()
  })
  const [bound] = await relay.listen([{ host: "127.0.0.1", port: 0 }])
  const ask = async (options: RequestInit) => {
    const answer = await fetch(`http://127.0.0.1:${bound?.port}/users/ann/x`, { ...options, headers: { authorization: basic("ann") } })
    return (await answer.arrayBuffer()).byteLength
  }
  const askMany = (options: RequestInit) => Promise.all(Array.from({ length: count }, () => ask(options)))
  for (const options of [{}, { method: "PUT", body: Buffer.alloc(size) }]) {
    const counts = countTurns(t, relayed.authority.people.get("ann")?.id ?? 0)
    assert.deepEqual(new Set(await askMany(options)), new Set([options.method ? "stored".length : size]))
    counts.assertMoved(count * (size + openingBytes))
    t.mock.restoreAll()
  }
})

test("while no process serves, or none answers, requests are refused for a moment", async () => {
  let target: string | undefined
  const relay = openRelay(() => target)
  const [bound] = await relay.listen([{ host: "127.0.0.1", port: 0 }])
  for (target of [undefined, "127.0.0.1:1"]) {
    const put = await fetch(`http://127.0.0.1:${bound?.port}/users/ann/x`, { method: "PUT", body: "x".repeat(100_000) })
    assert.deepEqual([put.status, put.headers.get("retry-after")], [503, "2"])
    assert.equal((await put.json()).code, "unavailable")
  }
  await relay.close()
})

test("a process that nobody confirms refuses requests", async () => {
  await using server = await TestFilesServer.start({ sharing: { relayKey, confirmedWithinMs: 200 } })
  await pause(250)
  assert.equal((await server.ask("PUT", "/users/ann/x", { body: "x" })).status, 503)
  server.files.confirm()
  assert.equal((await server.ask("PUT", "/users/ann/x", { body: "x" })).status, 201)
})

test("wrong credentials are asked about and recorded once", async () => {
  await using server = await TestFilesServer.start({ isRelayed: true })
  const refused = await server.ask("PUT", "/users/ann/x", { user: "ann:wrong", body: "x" })
  assert.deepEqual([refused.status, refused.headers["www-authenticate"]], [401, 'Basic realm="Quayside"'])
  assert.equal(server.authority.asked.identify, 1)
  const { code, isWrite, count } = server.authority.refusals[0] ?? assert.fail()
  assert.deepEqual([server.authority.refusals.length, code, isWrite, count], [1, "unauthorized", true, 1])
  const slowed = await server.ask("GET", "/users/ann/x", { user: "slowed" })
  assert.deepEqual([slowed.status, slowed.headers["retry-after"]], [429, "7"])
})

test("many people's stalled uploads keep nobody from the files", async () => {
  await using server = await TestFilesServer.start({ isRelayed: true })
  const crowd: Awaited<ReturnType<typeof server.raw>>[] = []
  for (let person = 0; person < 6; person += 1) {
    const name = `guest${person}`
    server.authority.add(name, { "/users/ann": "write" })
    for (let i = 0; i < 100; i += 1) {
      const upload = await server.raw()
      const lines = `Host: localhost\r\nAuthorization: ${basic(name)}\r\nContent-Length: 99999\r\n`
      upload.write(`PUT /users/ann/${name}-${i} HTTP/1.1\r\n${lines}\r\n`)
      crowd.push(upload)
    }
  }
  await eventually("all uploads wait for their bodies", () => server.unfinished().length === crowd.length, 20_000)
  assert.equal((await server.ask("PUT", "/users/bob/x", { user: "bob", body: "x" })).status, 201)
  for (const upload of crowd) upload.socket.destroy()
})

test("strangers' connections do not close an upload of the same address", async () => {
  await using server = await TestFilesServer.start({ isRelayed: true, connections: { maxPerAddress: 4 } })
  const upload = await server.raw()
  upload.write(head("PUT", "/users/ann/upload", "Content-Length: 100000\r\n"))
  await eventually("it began", () => server.unfinished().length === 1)
  const strangers = await Promise.all(Array.from({ length: 8 }, () => server.raw()))
  await eventually("the strangers' own are closed", () => strangers.filter(({ socket }) => socket.destroyed).length >= 4)
  upload.write("x".repeat(100_000))
  assert.match(await upload.until("\r\n\r\n"), /^HTTP\/1\.1 201 /)
  for (const { socket } of [upload, ...strangers]) socket.destroy()
})

test("the serving process counts what is passed on for the client, not for the process between", async () => {
  await using server = await TestFilesServer.start({ sharing: { relayKey, confirmedWithinMs: 60_000 }, connections: { maxPerAddress: 4 } })
  const signer = relaySigner(relayKey)
  const unfinishedForm = async (client: string) => {
    const form = await server.raw()
    const lines = [`${relayHeader}: ${signer.sign(client)}`, "Host: localhost", "Content-Length: 99"]
    form.write(`POST /users/ann/ HTTP/1.1\r\n${lines.join("\r\n")}\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n`)
    return form
  }
  const forms = await Promise.all(Array.from({ length: 8 }, (_, i) => unfinishedForm(`203.0.113.${i}`)))
  const crowd: Awaited<ReturnType<typeof server.raw>>[] = []
  for (let i = 0; i < 8; i += 1) crowd.push(await unfinishedForm("198.51.100.1"))
  await eventually("a crowd loses its own", () => crowd.filter(({ socket }) => socket.destroyed).length === 4)
  assert.deepEqual(new Set(forms.map(({ socket }) => socket.destroyed)), new Set([false]))
  for (const { socket } of [...forms, ...crowd]) socket.destroy()
})
