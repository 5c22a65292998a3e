import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer, type IncomingMessage, request } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { test } from "node:test"
import { countTurns } from "../../../test/fixtures/turns.ts"
import { fileWriter, receiveBody } from "./receive-body.ts"

test("an upload moves no more in a turn than the person's budget", async (t) => {
  const total = 16 * 1024 * 1024
  const directory = mkdtempSync(join(tmpdir(), "quayside-body-"))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, "upload")
  const counts = countTurns(t, 7)
  const server = createServer(async (incoming, response) => {
    await receiveBody(incoming, { userId: 7, write: fileWriter(openSync(file, "w"), 7) })
    response.end()
  })
  await once(server.listen(0, "127.0.0.1"), "listening")
  const outgoing = request({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", method: "PUT", agent: false })
  outgoing.end(Buffer.alloc(total))
  const [answer] = await once(outgoing, "response")
  answer.resume()
  server.close()
  assert.equal(statSync(file).size, total)
  counts.assertMoved(total)
})

test("an upload of single bytes needs few objects until it is complete", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "quayside-body-"))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, "upload")
  const body = Buffer.from("0123456789".repeat(2_000))
  const incoming = Object.assign(new PassThrough(), { headers: { "content-length": String(body.length) } })
  const concat = t.mock.method(Buffer, "concat").mock
  const received = receiveBody(incoming as unknown as IncomingMessage, { userId: 8, write: fileWriter(openSync(file, "w"), 8) })
  for (const byte of body) {
    incoming.write(Buffer.of(byte))
    if (incoming.writableNeedDrain) await once(incoming, "drain")
  }
  incoming.end()
  await received
  const most = Math.max(...concat.calls.map(({ arguments: [parts] }) => parts.length))
  assert.ok(most < 20, `${most} chunks`)
  assert.deepEqual(readFileSync(file), body)
})
