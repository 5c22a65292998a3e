import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { DockerClient } from "../client/docker-client.ts"
import { networkLabels } from "../containers/labels.ts"
import { UserNetworks } from "./user-networks.ts"

const idleMs = 1_000

test("a network with a start in progress is not removed, and no start uses one in removal", { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-networks-"))
  const users = ["ann", "bob"]
  const listed = users.map((user, n) => ({ Name: `quayside-one-${n}`, Labels: networkLabels("one", { user, group: "" }) }))
  const removed: string[] = []
  const [firstRemoval, permission] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const server = createServer(async (request, response) => {
    if (request.method === "DELETE") {
      removed.push(request.url?.split("/").at(-1) ?? "")
      firstRemoval.resolve()
      await permission.promise
      response.writeHead(204).end()
    } else if (request.method === "POST") response.writeHead(201, { "content-type": "application/json" }).end('{"Id":"1"}')
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(listed))
  })
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const client = new DockerClient(socketPath)
  const clock = new ManualClock()
  const networks = new UserNetworks(client, { instance: "one", pool: "10.0.0.0/24", idleMs, confined: false, clock })
  const lease = (user: string) => networks.lease({ user, group: "" }, new AbortController().signal)
  try {
    await networks.removeIdle(new Map())
    await clock.advance(idleMs)
    const removing = networks.removeIdle(new Map())
    await firstRemoval.promise
    assert.notEqual((await lease("ann")).network, "quayside-one-0")
    assert.equal((await lease("bob")).network, "quayside-one-1")
    permission.resolve()
    await removing
    assert.deepEqual(removed, ["quayside-one-0"])
  } finally {
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
})
