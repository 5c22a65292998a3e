import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { test } from "node:test"
import { queryObjects } from "node:v8"
import { DockerClient } from "../client/docker-client.ts"
import { readLogs } from "./read-logs.ts"

/** Reads the logs of a container while the daemon answers with an error. */
async function readWith(status: number, message: string): Promise<unknown[]> {
  const folder = await mkdtemp(join(tmpdir(), "quayside-logs-"))
  const server = createServer((_, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ message })),
  )
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const client = new DockerClient(socketPath)
  try {
    return await Array.fromAsync(readLogs(client, "some", { follow: true }))
  } finally {
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
}

test("a container that is gone or being removed has no output, and other errors reject", async () => {
  assert.deepEqual(await readWith(404, "No such container: some"), [])
  assert.deepEqual(await readWith(409, "can not get logs from container which is dead or marked for removal"), [])
  await assert.rejects(readWith(500, "something else"), { code: "engine_error" })
})

const text = "2026-01-01T00:00:00.000000000Z é\n"

function frame(): Buffer {
  const line = Buffer.from(text)
  const header = Buffer.alloc(8)
  header[0] = 1
  header.writeUInt32BE(line.length, 4)
  return Buffer.concat([header, line])
}

test("short lines that nobody reads take no buffer each", async () => {
  const stream = new Readable({ read() {} })
  const client = { call: async () => stream } as unknown as DockerClient
  const lines = readLogs(client, "container", { follow: true })[Symbol.asyncIterator]()
  stream.push(frame())
  const { value } = await lines.next()
  assert.deepEqual(value, { time: Date.parse("2026-01-01"), stream: "stdout", text: "é" })
  const count = () => queryObjects(Uint8Array, { format: "count" })
  const before = count()
  for (let i = 0; i < 2_000; i += 1) stream.push(frame())
  const held = count() - before
  assert.ok(held < 100, `${held} buffers`)
  for (let i = 0; i < 2_000; i += 1) assert.equal((await lines.next()).value.text, "é")
  await lines.return?.()
})
