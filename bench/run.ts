// Compares the time from POST /running_project to the first response of the run's URL with that of
// a container that handwritten calls of the Engine API create, start and probe.
import { randomBytes } from "node:crypto"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import Docker from "dockerode"
import { basicAuth, bearerAuth, createClient } from "#client"
import { startServerProcess } from "../test/server-process.ts"
import { answers, median, spread } from "./tools.ts"

const repeats = 15
const image = "quayside/python-app:latest"
const print = (line: string) => process.stdout.write(`${line}\n`)

await using server = await startServerProcess({ QUAYSIDE_LOG_LEVEL: "error" })
const first = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await first.createToken({ body: { Name: "bench" } })
const headers = { authorization: bearerAuth(Token) }
const client = createClient({ baseUrl: server.baseUrl, authorization: headers.authorization })
const { ID: ImageID } = await client.createImage({ body: { Name: "sample", Image: image } })
const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "bench", Type: "http", ImageID } })

async function byQuayside(): Promise<number> {
  const startedAt = performance.now()
  const run = await client.startRun({ body: { ProjectID } })
  await answers(run.URL, { headers })
  const durationMs = performance.now() - startedAt
  await client.stopRun({ query: { ID: run.ID } })
  return durationMs
}

const docker = new Docker()
const mounts = ["code", "model", "home"].map((name) => ({
  Type: "bind" as const,
  Source: join(server.directory, "by-hand", name),
  Target: `/work/${name}`,
  ReadOnly: false,
}))
for (const { Source } of mounts) await mkdir(Source, { recursive: true })
await docker.createNetwork({ Name: "quayside-bench" })
const hostConfig = {
  Init: true,
  CapDrop: ["ALL"],
  SecurityOpt: ["no-new-privileges"],
  PidsLimit: 1024,
  NanoCpus: 1e9,
  Memory: 2 ** 31,
  MemorySwap: 2 ** 31,
  NetworkMode: "quayside-bench",
  Mounts: mounts,
}

async function byHand(): Promise<number> {
  const startedAt = performance.now()
  const container = await docker.createContainer({
    name: `bench-${randomBytes(6).toString("hex")}`,
    Image: image,
    User: "1000:1000",
    Env: ["PORT=8000"],
    HostConfig: hostConfig,
  })
  await container.start()
  const { NetworkSettings } = await container.inspect()
  await answers(`http://${NetworkSettings.Networks["quayside-bench"]?.IPAddress}:8000/`)
  const durationMs = performance.now() - startedAt
  await container.remove({ force: true })
  return durationMs
}

const quayside: number[] = []
const hand: number[] = []
await byQuayside()
await byHand()
for (let i = 0; i < repeats; i += 1) {
  quayside.push(await byQuayside())
  hand.push(await byHand())
}
await docker.getNetwork("quayside-bench").remove()
print(`POST to URL answering: ${spread(quayside)} ms; by hand: ${spread(hand)} ms`)
print(`difference of the medians: ${(median(quayside) - median(hand)).toFixed(0)} ms (needed ≤ 300, aim 100)`)
