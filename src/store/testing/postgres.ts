import { execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chown, mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import pg from "pg"
import { retry } from "#kit"
import { type MakeDatabase, testDatabase } from "./databases.ts"

const run = promisify(execFile)

/** A PostgreSQL server for one test file. */
export interface PostgresServer extends AsyncDisposable {
  /** Makes an empty database. */
  readonly make: MakeDatabase
  /** An administrator's connection to the named database. */
  connect(database?: string): Promise<pg.Client>
  urlOf(database: string): string
  /** Ends the server at once, like a crash; absent for a server that the test did not start. */
  crash?(): Promise<void>
  start?(): Promise<void>
}

/**
 * Uses the server in `QUAYSIDE_TEST_POSTGRES`, whose user must be allowed to create databases.
 * Otherwise it starts one in a temporary directory, as an unprivileged user, on a Unix socket.
 */
export async function postgresServer(): Promise<PostgresServer> {
  const url = process.env.QUAYSIDE_TEST_POSTGRES
  return url ? serverAt(url, async () => {}) : ownServer()
}

function serverAt(url: string, stop: () => Promise<void>): PostgresServer {
  const urlOf = (database: string) => {
    const at = new URL(url)
    at.pathname = `/${database}`
    return at.href
  }
  const connect = async (database = "postgres") => {
    const client = new pg.Client({ connectionString: urlOf(database) })
    client.on("error", () => {})
    await client.connect()
    return client
  }
  const send = async (statement: string) => {
    const client = await connect()
    await client.query(statement).finally(() => client.end())
  }
  const make: MakeDatabase = async () => {
    const name = `quayside_test_${randomBytes(6).toString("hex")}`
    await send(`create database ${name} template template0 encoding 'UTF8'`)
    return testDatabase(urlOf(name), () => send(`drop database ${name} with (force)`))
  }
  return { make, connect, urlOf, [Symbol.asyncDispose]: stop }
}

async function ownServer(): Promise<PostgresServer> {
  const bin = await newestBinaries()
  const directory = await mkdtemp(join(tmpdir(), "quayside-pg-"))
  const data = join(directory, "data")
  // PostgreSQL does not run as root.
  const user = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  if (user.uid !== undefined) await chown(directory, user.uid, user.gid)
  await run(join(bin, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"], {
    ...user,
    cwd: directory,
  })
  const settings = ["-c", "listen_addresses=", "-c", `unix_socket_directories=${directory}`, "-c", "fsync=off", "-c", "shared_buffers=32MB"]
  const server = serverAt(`postgres://postgres@localhost/postgres?host=${encodeURIComponent(directory)}`, async () => {
    await crash()
    await rm(directory, { recursive: true })
  })
  let child = spawn(join(bin, "postgres"), ["-D", data, ...settings], { ...user, cwd: directory, stdio: "ignore" })
  const start = async () => {
    if (child.exitCode !== null || child.signalCode !== null) {
      child = spawn(join(bin, "postgres"), ["-D", data, ...settings], { ...user, cwd: directory, stdio: "ignore" })
    }
    const client = await retry(() => server.connect(), { attempts: 50, firstWaitMs: 50, maxWaitMs: 200 })
    await client.end()
  }
  /** SIGQUIT: the server ends at once and recovers from its log when it starts again. */
  const crash = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGQUIT")
    await ended
  }
  await start()
  return { ...server, crash, start }
}

/** The directory of the newest installed version's programs. */
export async function newestBinaries(): Promise<string> {
  const root = "/usr/lib/postgresql"
  const versions = (await readdir(root).catch(() => [])).map(Number).filter(Number.isInteger)
  if (versions.length === 0)
    throw new Error("PostgreSQL is wanted: install it (apt install postgresql), or name a server in QUAYSIDE_TEST_POSTGRES")
  return join(root, String(Math.max(...versions)), "bin")
}
