import assert from "node:assert/strict"
import { connect, createServer, type Socket } from "node:net"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { seededRandom } from "../../../test/fixtures/random.ts"
import { GatewayFixture, keyA } from "../testing/gateway-fixture.ts"

const answers = [
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
  "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
  "HTTP/1.1 200 OK\r\n\r\nuntil the end",
  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nraw bytes",
  "HTTP/1.1 304 Not Modified\r\n\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "HTTP/1.1 999 \r\nSet-Cookie: quayside-run=x\r\nLocation: //x\r\nX: \xff\r\n\r\n",
  "garbage",
  "",
]
const heads = [
  "GET {p} HTTP/1.1\r\nHost: {h}\r\n{a}\r\n",
  "GET {p} HTTP/1.0\r\nHost: {h}\r\n{a}\r\n",
  "HEAD {p} HTTP/1.1\r\nHost: {h}\r\n{a}\r\n",
  "POST {p} HTTP/1.1\r\nHost: {h}\r\n{a}Sec-Fetch-Site: same-origin\r\nContent-Length: 10\r\n\r\n0123456789",
  "POST {p} HTTP/1.1\r\nHost: {h}\r\n{a}Sec-Fetch-Site: same-origin\r\nContent-Length: 10\r\n\r\n0123",
  "POST {p} HTTP/1.1\r\nHost: {h}\r\n{a}Origin: http://{h}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX: y\r\n\r\n",
  "PUT {p} HTTP/1.1\r\nHost: {h}\r\n{a}Origin: http://{h}\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
  "GET {p} HTTP/1.1\r\nHost: {h}\r\n{a}Origin: http://{h}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly",
  "GET {p} HTTP/1.1\r\nHost: {h}\r\n{a}Accept: text/html\r\nConnection: close\r\n\r\n",
]
const noise = [
  "\r\n",
  "\0",
  "\x80",
  " ",
  "Host: x\r\n",
  "Content-Length: 3\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Connection: upgrade, host\r\n",
  "HTTP/1.1",
]

test("three thousand requests that either side breaks off leave no connection and no memory behind", { timeout: 120_000 }, async () => {
  const { below, once, pick } = seededRandom(4711)
  const sockets = new Set<Socket>()
  const program = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => {}).on("close", () => sockets.delete(socket))
    socket.on("data", () => {
      socket.write(pick(answers), "latin1")
      if (once(3)) socket.end()
      else if (once(4)) socket.destroy()
    })
  })
  await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve))
  await using fixture = await GatewayFixture.open()
  const { cookie } = await fixture.enter()
  fixture.runs.targets.set(keyA, { ...fixture.target, address: { host: "127.0.0.1", port: (program.address() as { port: number }).port } })

  const one = () =>
    new Promise<void>((resolve) => {
      const atOrigin = once(2)
      const place = {
        h: atOrigin ? fixture.origin : fixture.apps,
        p: atOrigin ? "/x" : "/run/1/x",
        a: atOrigin ? `Cookie: ${cookie}\r\n` : "Authorization: Bearer ann\r\n",
      }
      let text = pick(heads).replace(/\{(\w)\}/g, (_, name: "h" | "p" | "a") => place[name])
      if (once(3)) {
        const at = below(text.length)
        text = text.slice(0, at) + pick(noise) + text.slice(at + below(4))
      }
      const socket = connect(fixture.port, "127.0.0.1", () => socket.write(text, "latin1"))
      socket.on("error", () => {}).on("close", () => resolve())
      socket.once("data", () => (once(2) ? socket.destroy() : socket.end()))
      setTimeout(() => socket.destroy(), 30 + below(60))
    })
  for (let i = 0; i < 60; i += 1) await Promise.all(Array.from({ length: 50 }, one))

  const answer = await fixture.ask(fixture.apps, "/healthz")
  assert.equal(answer.status, 200)
  for (const socket of sockets) socket.destroy()
  await eventually("nothing is held", () => fixture.gateway.openConnections === 0)
  await new Promise((resolve) => program.close(resolve))
})
