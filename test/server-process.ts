import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { basicAuth, createClient } from "#client"
import { freePorts } from "./fixtures/free-ports.ts"

/** `quayside serve` as its own process, on free ports with its own directory. */
export interface ServerProcess extends AsyncDisposable {
  readonly baseUrl: string
  readonly appsUrl: string
  readonly filesUrl: string
  /**
   * Its working directory, with the data directory `data` and the administrator's password in
   * `data/admin-password`.
   */
  readonly directory: string
  readonly password: string
  readonly child: ChildProcess
  kill(signal: NodeJS.Signals): Promise<void>
  start(): Promise<void>
}

/** As `script/start` and the container image have it: `docs/decisions/0024`. */
export const allocator = { MALLOC_ARENA_MAX: "2", MALLOC_MMAP_THRESHOLD_: "1048576", MALLOC_TRIM_THRESHOLD_: "1048576" }

const program = fileURLToPath(new URL("../bin/quayside.js", import.meta.url))

/** `heard` receives its standard error, which is shown otherwise. */
export async function startServerProcess(
  env: Readonly<Record<string, string>> = {},
  onOutput?: (chunk: Buffer) => void,
  { maxDescriptors }: { maxDescriptors?: number } = {},
): Promise<ServerProcess> {
  const limit = maxDescriptors === undefined ? "" : `ulimit -n ${maxDescriptors} && `
  const directory = await mkdtemp(join(tmpdir(), "quayside-server-"))
  const [port, appsPort, filesPort] = await freePorts(3)
  const password = "a password for tests"
  const settings = {
    QUAYSIDE_PORT: String(port),
    QUAYSIDE_APPS_PORT: String(appsPort),
    QUAYSIDE_FILES_PORT: String(filesPort),
    QUAYSIDE_DATA_DIR: join(directory, "data"),
    QUAYSIDE_ADMIN_PASSWORD: password,
    QUAYSIDE_LOG_LEVEL: "warn",
    ...allocator,
    ...env,
  }
  let child: ChildProcess | undefined
  const end = async (signal: NodeJS.Signals) => {
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, "exit")
    child.kill(signal)
    await exited
  }
  const start = async () => {
    child = spawn("/bin/sh", ["-c", `${limit}exec "$0" "$@"`, process.execPath, program, "serve"], {
      cwd: directory,
      env: { ...process.env, ...settings },
      stdio: ["ignore", "pipe", onOutput ? "pipe" : "inherit"],
    })
    if (onOutput) child.stderr?.on("data", onOutput)
    await untilServing(child)
  }
  await start()
  await writeFile(join(settings.QUAYSIDE_DATA_DIR, "admin-password"), `${password}\n`, { mode: 0o600 })
  return {
    baseUrl: `http://localhost:${port}`,
    appsUrl: `http://localhost:${appsPort}`,
    filesUrl: `http://localhost:${filesPort}`,
    directory,
    password,
    get child() {
      return child as ChildProcess
    },
    kill: end,
    start,
    async [Symbol.asyncDispose]() {
      const isUp = child?.exitCode === null && child.signalCode === null
      const stopped = isUp && env.QUAYSIDE_ENGINE !== "fake" ? stopRuns(`http://localhost:${port}`, password) : undefined
      await stopped?.finally(() => end("SIGTERM"))
      await end("SIGTERM")
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** Resolves at the line with the addresses; rejects with the output if the process exits first. */
export async function untilServing(child: ChildProcess): Promise<void> {
  let printed = ""
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on("data", (chunk) => {
      printed += chunk
      if (printed.includes("Quayside is ready")) resolve()
    })
    child.once("exit", (code) => reject(new Error(`quayside serve ended with ${code}: ${printed}`)))
  })
}

/** Stopping a server stops no run: a test does that itself. */
async function stopRuns(baseUrl: string, password: string): Promise<void> {
  const admin = createClient({ baseUrl, authorization: basicAuth("admin", password) })
  const { data } = await admin.listRuns({ query: { pageSize: 200 } })
  await Promise.all(data.map((run) => admin.stopRun({ query: { ID: run.ID } })))
}
