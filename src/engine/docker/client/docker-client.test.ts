import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type RequestListener } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { DockerClient } from "./docker-client.ts"

/** A client of a daemon that a function plays. */
async function withDaemon(answer: RequestListener, use: (client: DockerClient) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "quayside-client-"))
  const server = createServer(answer)
  const socketPath = join(folder, "docker.sock")
  await new Promise<void>((resolve) => server.listen(socketPath, resolve))
  const client = new DockerClient(socketPath)
  try {
    await use(client)
  } finally {
    client.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
}

/** Microseconds of processor time for 20 calls, the least of several measurements. */
async function costOfCalls(client: DockerClient): Promise<number> {
  const costs: number[] = []
  for (let n = 0; n < 5; n += 1) {
    const before = process.cpuUsage()
    for (let i = 0; i < 20; i += 1) await client.call((docker, abort) => docker.getContainer("other").inspect(abort))
    const { user, system } = process.cpuUsage(before)
    costs.push(user + system)
  }
  return Math.min(...costs)
}

test("a hundred open calls do not slow down another call", { timeout: 60_000 }, async () => {
  let open = 0
  const answer: RequestListener = (request, response) => {
    if (request.url?.includes("/wait")) open += 1
    else response.end("{}")
  }
  await withDaemon(answer, async (client) => {
    const alone = await costOfCalls(client)
    const ending = new AbortController()
    const wait = () =>
      client
        .call((docker, abort) => docker.getContainer("some").wait({ ...abort }), { timeoutMs: 0, signal: ending.signal })
        .catch(() => {})
    const waits = Array.from({ length: 100 }, wait)
    try {
      await eventually("all calls are open", () => open === waits.length, 30_000)
      const beside = await costOfCalls(client)
      // It was ten times as much when each call formatted the others.
      assert.ok(beside < 4 * alone, `20 calls took ${beside} µs of the processor, and ${alone} µs alone`)
    } finally {
      ending.abort()
      await Promise.all(waits)
    }
  })
})

test("a call to which dockerode passes no signal rejects when the daemon hangs", async () => {
  const hang = () => {}
  await withDaemon(hang, async (client) => {
    const tag = client.call((docker) => docker.getImage("a").tag({ repo: "b" }), { timeoutMs: 50 })
    await assert.rejects(tag, { code: "engine_unreachable" })
  })
})
