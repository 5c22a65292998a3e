// The cost of event streams for other requests: the same load (100 changes and 200 reads a second,
// sent on schedule) without streams and with 2,000 streams that receive every event. The server is
// one process on one core; load and streams run on the other. Slices alternate. Compares the p95 of
// all requests and the server's memory.
//   node bench/events.ts [--readers 2000] [--seconds 8] [--rounds 3] [--profile]

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface, type Interface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { basicAuth, bearerAuth, createClient } from "#client"
import { answers, median, ownSettings } from "./tools.ts"

const { values: options } = parseArgs({
  options: {
    readers: { type: "string", default: "2000" },
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    profile: { type: "boolean", default: false },
  },
})
const readers = Number(options.readers)
const seconds = Number(options.seconds)
const perPerson = 20
const perSecond = { changes: 100, reads: 200 }
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const print = (line: string) => process.stdout.write(`${line}\n`)

function start(
  stack: AsyncDisposableStack,
  core: number,
  parts: { args: string[]; env?: Record<string, string>; speaks?: boolean },
): ChildProcess {
  const child = spawn("taskset", ["-c", String(core), process.execPath, ...parts.args], {
    env: { ...process.env, ...parts.env },
    stdio: parts.speaks ? ["pipe", "pipe", "inherit"] : ["ignore", "ignore", "inherit"],
  })
  stack.defer(async () => {
    if (child.exitCode !== null) return
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  })
  return child
}

const agent = new Agent({ keepAlive: true, maxSockets: 16 })

/**
 * Latency counts from the time at which the request was due: a server that stalls delays every
 * request that was due meanwhile.
 */
function send(port: number, options: { method: string; path: string; token: string; body?: string }): Promise<number> {
  const due = performance.now()
  return new Promise((resolve, reject) => {
    const { method, path, token, body } = options
    const headers = {
      authorization: bearerAuth(token),
      ...(body === undefined ? {} : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    }
    const outgoing = request({ host: "127.0.0.1", port, method, path, agent, headers }, (incoming) => {
      incoming.resume()
      incoming.on("end", () =>
        incoming.statusCode === 200 ? resolve(performance.now() - due) : reject(new Error(`${incoming.statusCode}`)),
      )
    })
    outgoing.on("error", reject)
    outgoing.end(body)
  })
}

async function load(port: number, token: string, ID: number): Promise<number[]> {
  const all: Promise<number>[] = []
  const startedAt = performance.now()
  let changes = 0
  let reads = 0
  for (let passed = 0; passed < seconds; passed = (performance.now() - startedAt) / 1_000) {
    for (; changes < passed * perSecond.changes; changes += 1)
      all.push(send(port, { method: "PUT", path: "/image", token, body: JSON.stringify({ ID, Comment: `change ${changes}` }) }))
    for (; reads < passed * perSecond.reads; reads += 1) all.push(send(port, { method: "GET", path: `/image?ID=${ID}`, token }))
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return Promise.all(all)
}

function p95(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.95)] as number
}

function memory(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])
}

function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}

await using stack = new AsyncDisposableStack()
const dir = await mkdtemp(join(tmpdir(), "quayside-bench-events-"))
stack.defer(() => rm(dir, { recursive: true, force: true }))
const password = "a password for benchmarks"
const { port, env } = await ownSettings(dir, password)
const profile = options.profile ? ["--cpu-prof", "--cpu-prof-dir=.cache/profile"] : []
const server = start(stack, 0, {
  args: [...profile, at("../src/main/cli.ts"), "serve"],
  env,
})
const baseUrl = `http://127.0.0.1:${port}`
await answers(`${baseUrl}/healthz`)
const { Token } = await createClient({ baseUrl, authorization: basicAuth("admin", password) }).createToken({ body: { Name: "bench" } })
const admin = createClient({ baseUrl, authorization: bearerAuth(Token) })
const { ID } = await admin.createImage({ body: { Name: "changing", Image: "a", IsPublished: true } })
const tokens: string[] = []
for (let i = 0; i * perPerson < readers; i += 1) {
  await admin.createUser({ body: { UserName: `reader${i}`, Password: password } })
  const created = await createClient({ baseUrl, authorization: basicAuth(`reader${i}`, password) }).createToken({ body: { Name: "bench" } })
  tokens.push(created.Token)
}
const crowd = start(stack, 1, { args: [at("./baseline/event-readers.ts"), String(port), ...tokens], speaks: true })
const lines = createInterface(crowd.stdout as NodeJS.ReadableStream)[Symbol.asyncIterator]() as ReturnType<
  Interface[typeof Symbol.asyncIterator]
>
async function report(line: string): Promise<number> {
  crowd.stdin?.write(`${line}\n`)
  return Number((await lines.next()).value)
}

const pid = server.pid as number
const figures = {
  without: [] as number[],
  with: [] as number[],
  cpuWithout: [] as number[],
  cpuWith: [] as number[],
  memory: [] as number[],
}
await load(port, Token, ID)
for (let round = 0; round < Number(options.rounds); round += 1) {
  let cpu = cpuSeconds(pid)
  figures.without.push(p95(await load(port, Token, ID)))
  figures.cpuWithout.push((cpuSeconds(pid) - cpu) / seconds)
  const before = memory(pid)
  await report(`open ${readers}`)
  const subscriberCount = await report("count")
  cpu = cpuSeconds(pid)
  figures.with.push(p95(await load(port, Token, ID)))
  figures.cpuWith.push((cpuSeconds(pid) - cpu) / seconds)
  figures.memory.push((memory(pid) - before) / readers)
  const bytes = (await report("count")) - subscriberCount
  print(`round ${round + 1}: ${(bytes / readers / seconds / 1024).toFixed(1)} KiB a second for each reader`)
  await report("close")
  await new Promise((resolve) => setTimeout(resolve, 1_000))
}
const ratio = median(figures.with) / median(figures.without)
print(
  `p95 without readers ${median(figures.without).toFixed(2)} ms, with ${readers} ${median(figures.with).toFixed(2)} ms: ${ratio.toFixed(2)} times (needed ≤ 1.5, aim 1.2)`,
)
print(`processor of the server: ${median(figures.cpuWithout).toFixed(2)} without, ${median(figures.cpuWith).toFixed(2)} with, of one core`)
print(`memory: ${figures.memory.map((each) => each.toFixed(1)).join(", ")} KiB for each reader, by round (needed ≤ 20)`)
