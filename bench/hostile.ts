// The cost of an attack for another person: p95 of their GET and small PUT before and during it,
// and the memory of all processes during it and some time after. The attack and the server share a
// machine, so it is begun on a second server first, as a comparison: what it costs others there is
// the machine's part. Each file in bench/hostile/ exports `attacks`.
// Needs root, since threads get back the priority that the attack's thread has given up.
//   node bench/hostile.ts [--only WORD] [--seconds 5] [--after 5]

import { once } from "node:events"
import { readdirSync } from "node:fs"
import { constants, setPriority } from "node:os"
import { parseArgs } from "node:util"
import { Worker } from "node:worker_threads"
import { basicAuth, bearerAuth, createClient } from "#client"
import { type ServerProcess, startServerProcess } from "../test/server-process.ts"
import type { Attack } from "./hostile/attack.ts"
import type { Figures, Questions } from "./other-person.ts"
import { family, memoryOf } from "./tools.ts"

const { values: options } = parseArgs({
  options: { only: { type: "string", default: "" }, seconds: { type: "string", default: "5" }, after: { type: "string", default: "5" } },
})
const print = (line: string) => process.stdout.write(`${line}\n`)

type Question = Omit<Questions, "seconds">

/** The other person's latencies during the attack: see bench/other-person.ts. */
async function request(questions: Question): Promise<Figures> {
  const workerData: Questions = { ...questions, seconds: Number(options.seconds) }
  const [figures] = await once(new Worker(new URL("./other-person.ts", import.meta.url), { workerData }), "message")
  return figures as Figures
}

/** A warm server: its heap has the size that ordinary work needs. */
async function warmUp({ url, headers }: { url: string; headers: Record<string, string> }): Promise<void> {
  const until = performance.now() + 5_000
  const oneConnection = async () => {
    while (performance.now() < until) await fetch(url, { headers }).then((response) => response.arrayBuffer())
  }
  await Promise.all(Array.from({ length: 16 }, oneConnection))
}

async function memory({ child }: ServerProcess): Promise<number> {
  let sum = 0
  for (const pid of await family(child.pid as number)) sum += memoryOf(pid, "Pss")
  return sum
}

/** The attack would come from another machine: the server and the other person go first. */
function yieldProcessor(): Disposable {
  setPriority(constants.priority.PRIORITY_LOW)
  return { [Symbol.dispose]: () => setPriority(constants.priority.PRIORITY_NORMAL) }
}

const startServer = () => startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_LOG_LEVEL: "error" })

interface Asked {
  get: Figures
  put: Figures
  /** MiB, at most. */
  memory: number
}

/** The other person's figures at the first server, while the second is attacked. */
async function during(attack: Attack, asked: ServerProcess, attacked: ServerProcess, [get, put]: readonly Question[]): Promise<Asked> {
  using _attack = await attack.begin(attacked)
  using _elsewhere = yieldProcessor()
  const figures: Figures[] = []
  let most = 0
  for (const question of [get, put]) {
    figures.push(await request(question as Question))
    most = Math.max(most, await memory(asked))
  }
  return { get: figures[0] as Figures, put: figures[1] as Figures, memory: most }
}

async function run(attack: Attack): Promise<void> {
  await using server = await startServer()
  const { Token } = await createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) }).createToken({
    body: { Name: "bench" },
  })
  const headers = { authorization: bearerAuth(Token) }
  const questions: Question[] = [
    { url: `${server.baseUrl}/whoami`, method: "GET", headers },
    { url: `${server.filesUrl}/users/admin/bench`, method: "PUT", headers },
  ]
  const [get, put] = questions as [Question, Question]
  await warmUp(get)
  const before = await memory(server)
  const idle = { get: await request(get), put: await request(put) }
  const beside = await withSecondServer((other) => during(attack, server, other, questions))
  const attacked = await during(attack, server, server, questions)
  const texts = (["get", "put"] as const).map((kind) => {
    const is = attacked[kind]
    const times = (is.p95 / idle[kind].p95).toFixed(2)
    const machine = beside[kind].p95.toFixed(1)
    return `p95 ${idle[kind].p95.toFixed(1)} → ${is.p95.toFixed(1)} ms (${times} times; ${machine} ms when another server is attacked), slowest ${is.slowest.toFixed(0)} ms, failed ${is.failed}`
  })
  await new Promise((resolve) => setTimeout(resolve, Number(options.after) * 1_000))
  const after = ((await memory(server)) / before).toFixed(2)
  print(
    `${attack.name}: GET ${texts[0]}; PUT ${texts[1]}; memory ${before.toFixed(0)} MiB, +${(attacked.memory - before).toFixed(0)}, ${after} times ${options.after} s after`,
  )
}

async function withSecondServer(work: (server: ServerProcess) => Promise<Asked>): Promise<Asked> {
  await using server = await startServer()
  return await work(server)
}

const here = new URL("./hostile/", import.meta.url)
for (const file of readdirSync(here).filter((name) => name.endsWith(".ts") && name !== "attack.ts")) {
  const { attacks } = (await import(new URL(file, here).href)) as { attacks: readonly Attack[] }
  for (const attack of attacks) if (attack.name.includes(options.only)) await run(attack)
}
