import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { json } from "node:stream/consumers"
import { test } from "node:test"
import { DockerClient } from "./docker-client.ts"

test("a container's options are in no request URL", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-create-"))
  const requests: unknown[] = []
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      requests.push([request.url, body])
      response.writeHead(201, { "content-type": "application/json" }).end('{"Id":"1234"}')
    })
  })
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  try {
    const client = new DockerClient(socketPath)
    const body = { Image: "some", Env: [`PASSWORD=${"secret".repeat(200_000)}`] }
    const container = await client.call((docker, abort) => docker.createContainer({ name: "quayside-1", ...body }, abort))
    assert.equal(container.id, "1234")
    assert.deepEqual(requests, [["/containers/create?name=quayside-1", body]])
    client.close()
  } finally {
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
})
