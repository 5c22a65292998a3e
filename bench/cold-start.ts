// The time from POST /running_project until the run is ready, for each sample image: after the
// kernel's page cache was emptied, which needs root, and again with everything in it.
// Usage: cold-start.ts [ROUNDS]
import { execFileSync } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { basicAuth, bearerAuth, createClient } from "#client"
import type { ProjectType } from "#contract"
import { startServerProcess } from "../test/server-process.ts"
import { median, spread } from "./tools.ts"

const rounds = Number(process.argv[2] ?? 3)
const samples: Record<string, ProjectType> = {
  jupyterlab: "jupyterlab",
  notebook: "jupyternotebook",
  vscode: "vscode",
  desktop: "novnc",
  "python-app": "http",
}
const print = (line: string) => process.stdout.write(`${line}\n`)

execFileSync(fileURLToPath(new URL("../script/images", import.meta.url)), Object.keys(samples), { stdio: "ignore" })
await using server = await startServerProcess({ QUAYSIDE_LOG_LEVEL: "error" })
const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "bench" } })
const client = createClient({ baseUrl: server.baseUrl, authorization: bearerAuth(Token) })

for (const [name, Type] of Object.entries(samples)) {
  const { ID: ImageID } = await client.createImage({ body: { Name: name, Image: `quayside/${name}:latest` } })
  const { ID: ProjectID } = await client.createProject({ body: { ProjectName: name, Type, ImageID } })
  const [cold, warm]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    execFileSync("sync")
    await writeFile("/proc/sys/vm/drop_caches", "3")
    cold.push(await startAndStop(ProjectID))
    warm.push(await startAndStop(ProjectID))
  }
  print(`${name}: cold ${spread(cold)} ms (needed ≤ 5,000), warm ${spread(warm)} ms, ratio ${(median(cold) / median(warm)).toFixed(2)}`)
}

async function startAndStop(ProjectID: number): Promise<number> {
  const startedAt = performance.now()
  const { ID } = await client.startRun({ body: { ProjectID } })
  const durationMs = performance.now() - startedAt
  await client.stopRun({ query: { ID } })
  return durationMs
}
