import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { after, test } from "node:test"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { basicAuth } from "#client"
import { adminPassword, startTestServer } from "../test-server.ts"
import { sendRequest } from "./http-client.ts"
import { sendRandomRequests } from "./random-requests.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const authorization = basicAuth("admin", adminPassword)

setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

/** Bytes in use after garbage collection, in the heap and outside of it. */
async function memoryInUse(): Promise<number> {
  for (let i = 0; i < 5; i += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  return heapUsed + external + arrayBuffers
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20))
}

/** Connections that a client opens and leaves idle. */
async function opened(count: number, bytes: string): Promise<Socket[]> {
  const { port } = new URL(baseUrl)
  const sockets = Array.from({ length: count }, () => connect({ host: "127.0.0.1", port: Number(port) }))
  await Promise.all(sockets.map((socket) => once(socket, "connect")))
  for (const socket of sockets) {
    socket.on("error", () => {})
    socket.pause()
    socket.write(bytes)
  }
  return sockets
}

test("after ten thousand random requests memory is back to where it was", async () => {
  await sendRandomRequests(baseUrl, { authorization, seed: 1, count: 5_000 })
  const before = await memoryInUse()
  await sendRandomRequests(baseUrl, { authorization, seed: 2, count: 10_000 })
  const grown = (await memoryInUse()) - before
  assert.ok(grown < 8 * 2 ** 20, `${grown} bytes more are in use`)
  assert.equal((await sendRequest(baseUrl, "GET", "/healthz")).status, 200)
})

const head = `Host: localhost\r\nAuthorization: ${authorization}\r\n`
const kinds: Record<string, string> = {
  "send a head byte by byte": "POST /image HTTP/1.1\r\nHost: localhost\r\nContent-Le",
  "send a body that does not come": `POST /project HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n{"Doc":"${"x".repeat(1_000)}`,
  "read nothing of many answers": `GET /openapi.json HTTP/1.1\r\n${head}\r\n`.repeat(50),
}
for (const [kind, bytes] of Object.entries(kinds)) {
  test(`a thousand clients that ${kind} hold little, block nobody, and leave nothing`, async () => {
    await sendRequest(baseUrl, "GET", "/images", { as: authorization })
    const before = await memoryInUse()
    const sockets = await opened(1_000, bytes)
    for (let i = 0; i < 20; i += 1) assert.equal((await sendRequest(baseUrl, "GET", "/images", { as: authorization })).status, 200)
    const each = ((await memoryInUse()) - before) / sockets.length
    for (const socket of sockets.splice(0)) socket.destroy()
    // The client's half of each connection is in this process, too, and counts.
    assert.ok(each < 1_000_000, `${Math.round(each)} bytes for each`)
    await waitUntil(async () => (await sendRequest(baseUrl, "GET", "/metrics")).text.includes("quayside_http_requests_under_way 1\n"))
    const left = (await memoryInUse()) - before
    assert.ok(left < 8 * 2 ** 20, `${left} bytes are left in use`)
  })
}
