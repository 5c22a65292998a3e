import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
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
