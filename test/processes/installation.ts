import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { basicAuth, type Client, createClient } from "#client"
import { freePorts } from "../fixtures/free-ports.ts"
import type { OtherMachine } from "../fixtures/other-machine.ts"
import { type PostgresServer, postgresServer } from "../fixtures/postgres-server.ts"
import { allocator, untilServing } from "../server-process.ts"

export interface RoleProcess {
  readonly child: ChildProcess
  /** Of `/readyz`: what each part says. */
  checks(): Promise<Record<string, { ok: boolean; msg: string }>>
  /** Resolves when it has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>
}

export interface StartOptions {
  /** Further settings. */
  env?: Readonly<Record<string, string>>
  /** Default: this one. */
  machine?: OtherMachine
  /** The program's directory. Default: this checkout. */
  checkout?: string
}

/** Processes of `quayside serve --only …` with one PostgreSQL, one data directory and Docker. */
export interface Installation extends AsyncDisposable {
  readonly postgres: PostgresServer
  readonly databaseUrl: string
  readonly baseUrl: string
  readonly appsUrl: string
  readonly filesUrl: string
  readonly dataDir: string
  readonly admin: Client
  readonly password: string
  /** The names of the containers of its runs. */
  containers(): Promise<string[]>
  /** Resolves when it is ready. */
  start(...roles: string[]): Promise<RoleProcess>
  startWith(options: StartOptions, ...roles: string[]): Promise<RoleProcess>
}

const run = promisify(execFile)
const thisCheckout = fileURLToPath(new URL("../..", import.meta.url))
const password = "a password for tests"
/** A probe of a process that hangs would wait for no longer, either. */
const probeMs = 10_000

/** `server` is disposed of with the installation. Default: one of its own. */
export async function openInstallation(env: Readonly<Record<string, string>> = {}, server?: PostgresServer): Promise<Installation> {
  const stack = new AsyncDisposableStack()
  const postgres = stack.use(server ?? (await postgresServer()))
  const database = stack.use(await postgres.makeDatabase())
  const directory = await mkdtemp(join(tmpdir(), "quayside-processes-"))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const [port, appsPort, filesPort] = await freePorts(3)
  const places = { directory, databaseUrl: database.url, port, appsPort, filesPort }
  const common = { ...process.env, ...settingsFor(places), ...env }
  const baseUrl = `http://localhost:${port}`
  const admin = createClient({ baseUrl, authorization: basicAuth("admin", password) })
  const startWith: Installation["startWith"] = async ({ env: further, machine, checkout = thisCheckout }, ...roles) => {
    const [healthPort] = await freePorts(1)
    const settings = { ...common, ...further, QUAYSIDE_ONLY: roles.join(","), QUAYSIDE_HEALTH_PORT: String(healthPort) }
    const [command = "", ...words] = [...(machine?.enter ?? []), process.execPath, join(checkout, "bin/quayside.js"), "serve"]
    const child = spawn(command, words, { cwd: directory, env: settings, stdio: ["ignore", "pipe", "inherit"] })
    const kill = async (signal: NodeJS.Signals = "SIGKILL") => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, "exit")
      child.kill(signal)
      await exited
    }
    stack.defer(async () => {
      child.kill("SIGCONT")
      await kill("SIGTERM")
    })
    await untilServing(child)
    const health = roles.includes("api") ? baseUrl : `http://localhost:${healthPort}`
    const checks = async () => (await (await fetch(`${health}/readyz`, { signal: AbortSignal.timeout(probeMs) })).json()).checks
    return { child, checks, kill }
  }
  const start = (...roles: string[]) => startWith({}, ...roles)
  const containers = async () => {
    const client = await postgres.connect(new URL(database.url).pathname.slice(1))
    const { rows } = await client.query("select value from meta where key = 'instance'").finally(() => client.end())
    const words = ["ps", "--filter", `label=quayside.instance=${rows[0].value}`, "--format", "{{.Names}}"]
    return (await run("docker", words)).stdout.split("\n").filter(Boolean)
  }
  return {
    containers,
    databaseUrl: database.url,
    ...{
      postgres,
      baseUrl,
      appsUrl: `http://localhost:${appsPort}`,
      filesUrl: `http://localhost:${filesPort}`,
      dataDir: join(directory, "data"),
      admin,
      password,
      start,
      startWith,
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

interface Places {
  directory: string
  databaseUrl: string
  port: number | undefined
  appsPort: number | undefined
  filesPort: number | undefined
}

function settingsFor({ directory, databaseUrl, port, appsPort, filesPort }: Places) {
  return {
    QUAYSIDE_PORT: String(port),
    QUAYSIDE_APPS_PORT: String(appsPort),
    QUAYSIDE_FILES_PORT: String(filesPort),
    QUAYSIDE_FILES_URL: `http://localhost:${filesPort}`,
    QUAYSIDE_DATA_DIR: join(directory, "data"),
    QUAYSIDE_DATABASE_URL: databaseUrl,
    QUAYSIDE_ADMIN_PASSWORD: password,
    QUAYSIDE_LOG_LEVEL: "warn",
    ...allocator,
  }
}
