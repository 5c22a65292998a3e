import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { DockerClient } from "./docker-client.ts"

test("a hundred open calls do not slow down another call", { timeout: 60_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-client-"))
  let open = 0
  const server = createServer((request, response) => {
    if (request.url?.includes("/wait")) open += 1
    else response.end("{}")
  })
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const client = new DockerClient(socketPath)
  const ending = new AbortController()
  const wait = () =>
    client.call((docker, abort) => docker.getContainer("some").wait({ ...abort }), { timeoutMs: 0, signal: ending.signal }).catch(() => {})
  const waits = Array.from({ length: 100 }, wait)
  try {
    await eventually("all calls are open", () => open === waits.length, 30_000)
    const before = process.cpuUsage()
    for (let n = 0; n < 20; n += 1) await client.call((docker, abort) => docker.getContainer("other").inspect(abort))
    const { user } = process.cpuUsage(before)
    // It was ten times as much when each call formatted the others.
    assert.ok(user < 300_000, `20 calls took ${user / 1_000} ms of the processor`)
  } finally {
    ending.abort()
    await Promise.all(waits)
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
})
