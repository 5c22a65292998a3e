import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { bounds } from "#contract"
import { silentLogger } from "#kit"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { DockerClient } from "../client/docker-client.ts"
import { startExec } from "./docker-exec.ts"

test("programs that one person starts at once leave room for the calls of others", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-exec-"))
  const seen: string[] = []
  // A daemon that creates nothing.
  const daemon = createServer(
    (request) => void request.setEncoding("utf8").on("data", (body: string) => seen.push(JSON.parse(body).Cmd[0])),
  )
  await new Promise<void>((resolve) => daemon.listen(join(folder, "docker.sock"), resolve))
  const client = new DockerClient(join(folder, "docker.sock"))
  const container = { Id: "c", State: { Pid: 0 } as never }
  const start = (user: string) => startExec({ client, log: silentLogger, container }, { command: [user], user }).catch(() => {})
  const starts = Array.from({ length: 50 }, () => start("ann"))
  const ofAnn = bounds.containers.engineStartsOfPerson.value
  await eventually("the daemon is asked", () => seen.length >= ofAnn)
  starts.push(start("bob"))
  await eventually("bob's program is asked for", () => seen.includes("bob"))
  assert.equal(seen.length, ofAnn + 1)
  client.close()
  daemon.closeAllConnections()
  await new Promise((resolve) => daemon.close(resolve))
  await Promise.all(starts)
  await rm(folder, { recursive: true })
})
