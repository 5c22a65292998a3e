import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { bounds } from "#contract"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { DockerClient } from "../client/docker-client.ts"
import { removeContainer } from "./remove-container.ts"

test("programs that use their whole grace delay neither removals nor other people's stops", { timeout: 90_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-remove-"))
  const stopping = new Set<string>()
  const server = createServer((request, response) => {
    const [, container = "", isStop] = /^\/containers\/([^/?]+)(\/stop)?/.exec(request.url ?? "") ?? []
    if (isStop) stopping.add(container)
    else response.writeHead(204).end()
  })
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const client = new DockerClient(socketPath)
  const ending = new AbortController()
  const { signal } = ending
  const stop = (id: string, owner: string) => removeContainer(client, id, { graceMs: 10_000, running: true, owner, signal }).catch(() => {})
  const maxStops = bounds.containers.engineGracesOfPerson.value
  const stops = Array.from({ length: maxStops + 10 }, (_, n) => stop(`ann-${n}`, "ann"))
  try {
    await eventually("one person's share of stops runs", () => stopping.size === maxStops, 30_000)
    stops.push(stop("bob", "bob"))
    await eventually("another person's stop runs", () => stopping.has("bob"), 30_000)
    await removeContainer(client, "ended", { graceMs: 0, running: false })
    assert.equal(stopping.size, maxStops + 1)
  } finally {
    ending.abort()
    await Promise.all(stops)
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
})
