// Compares the HTTP API with a bare server (bench/baseline/raw.mjs: node:http and node:sqlite,
// without authentication or checks): GET one, a list page of 20 with total, a durable POST. Each
// server is one process on one core; the load (wrk, 64 connections) runs on the other. Slices
// alternate. Prints medians of requests per second and of processor time.
//   node bench/api.ts [--seconds 2] [--rounds 5] [--rows 10000] [--only one|list|post] [--profile]

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs, promisify } from "node:util"
import { basicAuth, bearerAuth, createClient } from "#client"
import { freePorts } from "../test/fixtures/free-ports.ts"
import { imageBody, userName, usersPerSet } from "./baseline/rows.mjs"
import { answers, median, ownSettings, spread } from "./tools.ts"

const run = promisify(execFile)
const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "5" },
    rows: { type: "string", default: "10000" },
    only: { type: "string" },
    profile: { type: "boolean", default: false },
  },
})
const rows = Number(options.rows)
const print = (line: string) => process.stdout.write(`${line}\n`)
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

interface Served {
  name: string
  port: number
  pid: number
}

interface Figures {
  perSecond: number
  /** Processor time per request, in microseconds. */
  cpu: number
}

/** The requests that wrk sends, as its script. */
const loads = {
  one: `request = function() return wrk.format("GET", "/image?ID=" .. math.random(1, ${rows * 2})) end`,
  list: `request = function() return wrk.format("GET", string.format("/images?UserName=long%02d&page=%d", math.random(0, ${usersPerSet - 1}), math.random(1, 5))) end`,
  post: `wrk.method = "POST"\nwrk.path = "/image"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = [==[${JSON.stringify({ ...imageBody("short", 1), UserName: undefined })}]==]`,
}
type Load = keyof typeof loads

function start(stack: AsyncDisposableStack, args: string[], env: Record<string, string>): ChildProcess {
  const child = spawn("taskset", ["-c", "0", process.execPath, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  })
  stack.defer(async () => {
    if (child.exitCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  })
  return child
}

async function startBaseline(stack: AsyncDisposableStack, parts: { dir: string; name: string; group: string }): Promise<Served> {
  const [port] = (await freePorts(1)) as [number]
  const env = {
    PORT: String(port),
    DB: join(parts.dir, `${parts.name}.db`),
    LONG: String(rows),
    SHORT: String(rows),
    TOTAL: "counter",
    GROUP: parts.group,
  }
  const child = start(stack, [at("./baseline/raw.mjs")], env)
  await answers(`http://127.0.0.1:${port}/healthz`)
  return { name: parts.name, port, pid: child.pid as number }
}

async function startQuayside(stack: AsyncDisposableStack, dir: string): Promise<Served & { token: string }> {
  const password = "a password for benchmarks"
  const { port, env } = await ownSettings(dir, password)
  const profile = options.profile ? ["--cpu-prof", "--cpu-prof-dir=.cache/profile"] : []
  const child = start(stack, [...profile, at("../src/main/cli.ts"), "serve"], env)
  const baseUrl = `http://127.0.0.1:${port}`
  await answers(`${baseUrl}/healthz`)
  const { Token } = await createClient({ baseUrl, authorization: basicAuth("admin", password) }).createToken({ body: { Name: "bench" } })
  await fill(createClient({ baseUrl, authorization: bearerAuth(Token) }))
  return { name: "quayside", port, pid: child.pid as number, token: Token }
}

/** The baseline's images, in the same order. */
async function fill(client: ReturnType<typeof createClient>): Promise<void> {
  const sets = ["long", "short"] as const
  const users = sets.flatMap((set) => Array.from({ length: usersPerSet }, (_, i) => userName(set, i)))
  for (const name of users) await client.createUser({ body: { UserName: name } })
  for (const set of sets) {
    for (let i = 0; i < rows; i += 100) {
      const batch = Array.from({ length: Math.min(100, rows - i) }, (_, k) => client.createImage({ body: imageBody(set, i + k) }))
      await Promise.all(batch)
    }
  }
}

/** Processor time of a process and its threads, in seconds. */
function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}

async function measure(server: Served, script: string, token: string): Promise<Figures> {
  const before = cpuSeconds(server.pid)
  const words = [
    "-t1",
    "-c64",
    `-d${options.seconds}s`,
    "-s",
    script,
    "-H",
    `Authorization: Bearer ${token}`,
    `http://127.0.0.1:${server.port}`,
  ]
  const { stdout } = await run("taskset", ["-c", "1", "wrk", ...words])
  if (/Non-2xx/.test(stdout)) throw new Error(`${server.name} refused: ${stdout}`)
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1])
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    cpu: ((cpuSeconds(server.pid) - before) * 1e6) / requests,
  }
}

async function compare(dir: string, load: Load, pair: { own: Served; base: Served; token: string }): Promise<void> {
  const script = join(dir, `${load}.lua`)
  await writeFile(script, loads[load])
  const own: Figures[] = []
  const base: Figures[] = []
  await measure(pair.own, script, pair.token)
  await measure(pair.base, script, pair.token)
  for (let round = 0; round < Number(options.rounds); round += 1) {
    own.push(await measure(pair.own, script, pair.token))
    base.push(await measure(pair.base, script, pair.token))
  }
  const ratios = own.map(({ perSecond }, i) => perSecond / (base[i]?.perSecond ?? Number.NaN))
  const cpu = own.map((figures, i) => (base[i]?.cpu ?? Number.NaN) / figures.cpu)
  print(
    `${load}: ${median(own.map((f) => f.perSecond)).toFixed(0)} requests/s, baseline ${median(base.map((f) => f.perSecond)).toFixed(0)}`,
  )
  print(`  ratio ${median(ratios).toFixed(2)} (${ratios.map((r) => r.toFixed(2)).join(" ")}); by processor time ${median(cpu).toFixed(2)}`)
  print(`  processor time for each request, µs: ${spread(own.map((f) => f.cpu))}, baseline ${spread(base.map((f) => f.cpu))}`)
}

await using stack = new AsyncDisposableStack()
const dir = await mkdtemp(join(tmpdir(), "quayside-bench-"))
stack.defer(() => rm(dir, { recursive: true, force: true }))
const own = await startQuayside(stack, dir)
const base = await startBaseline(stack, { dir, name: "baseline", group: "0" })
const grouped = await startBaseline(stack, { dir, name: "baseline, grouped commits", group: "1" })
for (const load of Object.keys(loads) as Load[]) {
  if (options.only !== undefined && options.only !== load) continue
  await compare(dir, load, { own, base: load === "post" ? grouped : base, token: own.token })
}
