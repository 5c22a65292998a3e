// The cost of sign-ins for other people: GET one by another person while 200 people sign in at
// once, compared with an idle server, and the memory needed. Then a small file over WebDAV with a
// password compared with a token, by processor time. Slices alternate. Prints medians of ratios.
// Needs wrk.
//   node bench/people.ts [--people 200] [--rounds 5] [--seconds 3]

import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { Agent, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs, promisify } from "node:util"
import { basicAuth, bearerAuth, createClient } from "#client"
import { answers, family, median, ownSettings, spread } from "./tools.ts"

const run = promisify(execFile)
const { values: options } = parseArgs({
  options: {
    people: { type: "string", default: "200" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    probe: { type: "string" },
    as: { type: "string", default: "" },
  },
})
const people = Number(options.people)
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
const password = "a password for benchmarks"
const print = (line: string) => process.stdout.write(`${line}\n`)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends one request over a persistent connection; resolves with its status. */
async function send(
  url: string,
  options: { method?: string; headers: Record<string, string>; body?: string; agent: Agent },
): Promise<number> {
  const { body, ...rest } = options
  const outgoing = request(url, rest)
  outgoing.end(body)
  const [answer] = await once(outgoing, "response")
  answer.resume()
  await once(answer, "end")
  return answer.statusCode
}

/**
 * Sends a request every 4 ms until its input ends, then prints the latencies. A process of its own,
 * so that the work of the sign-ins does not count.
 */
async function probe(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: options.as }
  for (let n = 0; n < 50; n += 1) await send(url, { headers, agent })
  const durationsMs: number[] = []
  let over = false
  process.stdin.once("end", () => (over = true)).resume()
  process.stdout.write("begun\n")
  while (!over) {
    const startedAt = performance.now()
    const status = await send(url, { headers, agent })
    if (status !== 200) throw new Error(`${url} answered ${status}`)
    durationsMs.push(performance.now() - startedAt)
    await pause(4)
  }
  agent.destroy()
  process.stdout.write(JSON.stringify(durationsMs))
}

/** The 95th percentile of latencies during the work, in milliseconds. */
async function p95While(url: string, as: string, work: () => Promise<void>): Promise<number> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), "--probe", url, "--as", as], {
    stdio: ["pipe", "pipe", "inherit"],
  })
  let printed = ""
  child.stdout.on("data", (chunk) => {
    printed += chunk
  })
  const ended = once(child, "close")
  await once(child.stdout, "data")
  await work()
  child.stdin.end()
  await ended
  const durationsMs = (JSON.parse(printed.slice("begun\n".length)) as number[]).sort((a, b) => a - b)
  return durationsMs[Math.floor(durationsMs.length * 0.95)] ?? Number.NaN
}

/** Peak memory of a process since the last call, in MiB. */
function peak(pid: number): number {
  const most = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
  writeFileSync(`/proc/${pid}/clear_refs`, "5")
  return most
}

/** Processor time of a process and its descendants, in seconds. */
async function cpuSeconds(pid: number): Promise<number> {
  const fields = (await family(pid)).map((each) => {
    const stat = readFileSync(`/proc/${each}/stat`, "utf8")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  })
  return fields.reduce((sum, each) => sum + Number(each[11]) + Number(each[12]), 0) / 100
}

interface Served {
  baseUrl: string
  filesUrl: string
  child: ChildProcess
  token: string
}

async function start(stack: AsyncDisposableStack): Promise<Served> {
  const dir = await mkdtemp(join(tmpdir(), "quayside-bench-"))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const { port, files, env } = await ownSettings(dir, password)
  const program = fileURLToPath(new URL("../src/main/cli.ts", import.meta.url))
  const child = spawn(process.execPath, [program, "serve"], { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] })
  stack.defer(async () => {
    const ended = once(child, "exit")
    child.kill("SIGTERM")
    await ended
  })
  const baseUrl = `http://127.0.0.1:${port}`
  const filesUrl = `http://127.0.0.1:${files}`
  await answers(`${baseUrl}/healthz`)
  const { Token } = await createClient({ baseUrl, authorization: basicAuth("admin", password) }).createToken({ body: { Name: "bench" } })
  return { baseUrl, filesUrl, child, token: bearerAuth(Token) }
}

async function signIns({ baseUrl, token, child }: Served): Promise<void> {
  const client = createClient({ baseUrl, authorization: token })
  const image = await client.createImage({ body: { Name: "read by others", Image: "debian" } })
  for (let n = 0; n < people; n += 1) await client.createUser({ body: { UserName: `user${n}`, Password: password } })
  const agent = new Agent({ keepAlive: false })
  const all = async () => {
    const bodies = Array.from({ length: people }, (_, n) => JSON.stringify({ UserName: `user${n}`, Password: password }))
    const headers = { "content-type": "application/json" }
    const statuses = await Promise.all(bodies.map((body) => send(`${baseUrl}/session`, { method: "POST", headers, body, agent })))
    if (statuses.some((status) => status !== 200)) throw new Error(`Somebody was not signed in: ${statuses}`)
  }
  const url = `${baseUrl}/image?ID=${image.ID}`
  const pid = child.pid as number
  await p95While(url, token, all)
  const [idle, busy, ratios, memory]: number[][] = [[], [], [], []]
  for (let round = 0; round < rounds; round += 1) {
    idle?.push(await p95While(url, token, () => pause(seconds * 1_000) as Promise<void>))
    await pause(1_000)
    peak(pid)
    const before = peak(pid)
    busy?.push(await p95While(url, token, all))
    memory?.push(peak(pid) - before)
    ratios?.push((busy?.at(-1) ?? Number.NaN) / (idle?.at(-1) ?? Number.NaN))
  }
  print(`GET one while ${people} sign in: p95 ${spread(busy ?? [])} ms, idle ${spread(idle ?? [])} ms`)
  print(`ratio of p95: ${median(ratios ?? []).toFixed(2)} (${ratios?.map((each) => each.toFixed(2)).join(" ")}; needed ≤ 3, aim 1.5)`)
  print(`memory at its peak, beyond that before: ${spread(memory ?? [])} MiB (needed ≤ 300)`)
}

async function webdav({ filesUrl, token, child }: Served): Promise<void> {
  const proofs = { token, basic: basicAuth("admin", password) }
  const url = `${filesUrl}/users/admin/small`
  const put = await fetch(url, { method: "PUT", headers: { authorization: token }, body: "x".repeat(1_024) })
  if (!put.ok) throw new Error(`The file was not written: ${put.status}`)
  const costs = { token: [] as number[], basic: [] as number[] }
  for (let round = -1; round < rounds * 2; round += 1) {
    for (const kind of ["token", "basic"] as const) {
      const before = await cpuSeconds(child.pid as number)
      const { stdout } = await run("wrk", ["-t1", "-c8", `-d${seconds}s`, "-H", `Authorization: ${proofs[kind]}`, url])
      if (/Non-2xx/.test(stdout)) throw new Error(stdout)
      const used = (await cpuSeconds(child.pid as number)) - before
      if (round >= 0) costs[kind].push((used * 1e6) / Number(/(\d+) requests in/.exec(stdout)?.[1]))
    }
  }
  const ratios = costs.basic.map((cost, n) => cost / (costs.token[n] ?? Number.NaN))
  print(`small GET over WebDAV, µs of processor time: Basic ${spread(costs.basic)}, token ${spread(costs.token)}`)
  print(`ratio: ${median(ratios).toFixed(3)} (${ratios.map((each) => each.toFixed(2)).join(" ")}; needed ≤ 1.1, aim 1.03)`)
}

async function main(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const served = await start(stack)
  await webdav(served)
  await signIns(served)
}

await (options.probe === undefined ? main() : probe(options.probe))
