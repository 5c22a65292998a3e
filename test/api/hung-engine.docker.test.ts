import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { promisify } from "node:util"
import { basicAuth, createClient } from "#client"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { privateDaemon } from "../fixtures/docker/dockerd.ts"
import { eventually } from "../fixtures/eventually.ts"
import { startServerProcess } from "../server-process.ts"
import { sendRequest } from "./http-client.ts"

const run = promisify(execFile)

/**
 * A server with its own daemon, and a run whose program cannot be reached, so it stays `starting`.
 */
async function startHungEngineFixture() {
  await using stack = new AsyncDisposableStack()
  const daemon = stack.use(await privateDaemon({ dataMiB: 128 }))
  await daemon.start()
  const image = await ensureBusyboxImage(daemon.socketPath)
  const server = await startServerProcess({
    QUAYSIDE_DOCKER_SOCKET: daemon.socketPath,
    QUAYSIDE_ISOLATION: "off",
    QUAYSIDE_NETWORK_POOL: "10.251.0.0/16",
    QUAYSIDE_LOG_LEVEL: "silent",
  })
  stack.defer(async () => {
    await daemon.kill("SIGCONT")
    await server[Symbol.asyncDispose]()
  })
  const { baseUrl, password } = server
  const as = basicAuth("admin", password)
  const admin = createClient({ baseUrl, authorization: as })
  const { ID: ImageID } = await admin.createImage({ body: { Name: "b", Image: image, Command: "sleep 1000" } })
  const project = await admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID } as never })
  const headers = { prefer: "respond-async" }
  const { ID } = (await sendRequest(baseUrl, "POST", "/running_project", { as, headers, body: { ProjectID: project.ID } }))
    .body as never as {
    ID: number
  }
  const state = async () =>
    (await sendRequest(baseUrl, "GET", `/running_project?ID=${ID}`, { as })).body as never as {
      State: string
      Reason: { code: string } | null
    }
  const containers = async () => (await run("docker", ["-H", `unix://${daemon.socketPath}`, "ps", "--all", "--quiet"])).stdout.trim()
  await eventually("the program has started", async () => (await state()).State === "starting" && (await containers()) !== "", 60_000)
  const resources = stack.move()
  return {
    daemon,
    server,
    state,
    containers,
    stop: () => sendRequest(baseUrl, "DELETE", `/running_project?ID=${ID}`, { as }),
    ready: () => sendRequest(baseUrl, "GET", "/readyz"),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

test("while the engine hangs, a stop returns engine_unreachable in time, and the run stops once the engine responds", async () => {
  await using fixture = await startHungEngineFixture()
  await fixture.daemon.kill("SIGSTOP")
  const answer = await fixture.stop()
  assert.deepEqual([answer.status, answer.body.code], [503, "engine_unreachable"])
  assert.equal((await fixture.state()).State, "stopping")
  assert.equal((await fixture.ready()).status, 503)
  await fixture.server.kill("SIGTERM")
  assert.deepEqual([fixture.server.child.exitCode, fixture.server.child.signalCode], [0, null])
  await fixture.server.start()
  assert.equal((await fixture.state()).State, "stopping")
  await fixture.daemon.kill("SIGCONT")
  await eventually("the run has ended", async () => (await fixture.state()).State === "ended", 60_000)
  assert.equal((await fixture.state()).Reason?.code, "stopped_by_user")
  assert.equal(await fixture.containers(), "")
})

test("a service whose engine hangs ends in time while a stop waits, and the stop's caller gets a failure", async () => {
  await using fixture = await startHungEngineFixture()
  await fixture.daemon.kill("SIGSTOP")
  const stopping = fixture.stop()
  await eventually("the stop request is stored", async () => (await fixture.state()).State === "stopping")
  const [answer] = await Promise.all([stopping, fixture.server.kill("SIGTERM")])
  assert.deepEqual([fixture.server.child.exitCode, fixture.server.child.signalCode], [0, null])
  assert.deepEqual([answer.status, answer.body.code], [503, "unavailable"])
  await fixture.daemon.kill("SIGCONT")
  await fixture.server.start()
  await eventually("the run has ended", async () => (await fixture.state()).State === "ended", 60_000)
  assert.equal(await fixture.containers(), "")
})
