// Compares the time from the start of the process to the first response with that of an empty
// TypeScript file. Then measures the memory of the idle server.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePorts } from "../test/fixtures/free-ports.ts"
import { answers, family, median, memoryOf, spread } from "./tools.ts"

const repeats = 15
const print = (line: string) => process.stdout.write(`${line}\n`)
const program = fileURLToPath(new URL("../bin/quayside.js", import.meta.url))
const directory = await mkdtemp(join(tmpdir(), "quayside-bench-"))
const bare = join(directory, "bare.ts")
await writeFile(bare, "const answer: number = 42\nif (answer === 0) throw new Error()\n")
const [port, appsPort, filesPort] = await freePorts(3)
const env = {
  ...process.env,
  QUAYSIDE_PORT: String(port),
  QUAYSIDE_APPS_PORT: String(appsPort),
  QUAYSIDE_FILES_PORT: String(filesPort),
  QUAYSIDE_DATA_DIR: join(directory, "data"),
  QUAYSIDE_ADMIN_PASSWORD: "a password for benchmarks",
  QUAYSIDE_LOG_LEVEL: "error",
}
const startServer = () => spawn(process.execPath, [program, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] })

let server = startServer()
const end = async () => {
  const exited = once(server, "exit")
  server.kill("SIGTERM")
  await exited
}
await answers(`http://127.0.0.1:${port}/healthz`)

// Memory after some requests and an idle time.
const proof = { authorization: `Basic ${btoa("admin:a password for benchmarks")}` }
for (const path of ["whoami", "images", "data", "projects", "running_projects"])
  await answers(`http://127.0.0.1:${port}/${path}`, { headers: proof })
await new Promise((resolve) => setTimeout(resolve, 15_000))
const processes = await family(server.pid ?? 0)
const names = ["server", "files worker", "shell that runs the host's tools"]
const total = (kind: "Rss" | "Pss") => processes.reduce((sum, pid) => sum + memoryOf(pid, kind), 0)
for (const [i, pid] of processes.entries()) {
  print(`${names[i] ?? "another"}: ${memoryOf(pid, "Pss").toFixed(1)} MiB proportional, ${memoryOf(pid, "Rss").toFixed(1)} MiB resident`)
}
print(
  `idle memory: ${total("Pss").toFixed(1)} MiB (proportional, ${processes.length} processes together; needed ≤ 150); resident, shared pages counted twice: ${total("Rss").toFixed(1)} MiB`,
)
await end()

const quayside: number[] = []
const bareFile: number[] = []
for (let i = 0; i < repeats; i += 1) {
  let startedAt = performance.now()
  server = startServer()
  await answers(`http://127.0.0.1:${port}/healthz`)
  quayside.push(performance.now() - startedAt)
  await end()
  startedAt = performance.now()
  await once(spawn(process.execPath, [bare], { stdio: "ignore" }), "exit")
  bareFile.push(performance.now() - startedAt)
}
await rm(directory, { recursive: true, force: true })
print(`start to first answer: ${spread(quayside)} ms (needed ≤ 1000)`)
print(`a bare .ts file: ${spread(bareFile)} ms; ratio of the medians: ${(median(quayside) / median(bareFile)).toFixed(2)}`)
