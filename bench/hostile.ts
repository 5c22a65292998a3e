// The cost of an attack for another person: p95 of their GET and small PUT before and during it,
// and the memory of all processes during it and some time after. Each file in bench/hostile/
// exports `attacks`.
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

/** The other person's latencies during the attack: see bench/other-person.ts. */
async function request(questions: Omit<Questions, "seconds">): Promise<Figures> {
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

async function run(attack: Attack): Promise<void> {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_LOG_LEVEL: "error" })
  const { Token } = await createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) }).createToken({
    body: { Name: "bench" },
  })
  const headers = { authorization: bearerAuth(Token) }
  const get = { url: `${server.baseUrl}/whoami`, method: "GET", headers } as const
  const put = { url: `${server.filesUrl}/users/admin/bench`, method: "PUT", headers } as const
  await warmUp(get)
  const before = await memory(server)
  const idle = [await request(get), await request(put)] as const
  const during: Figures[] = []
  let most = 0
  {
    using _attack = await attack.begin(server)
    using _elsewhere = yieldProcessor()
    for (const question of [get, put]) {
      during.push(await request(question))
      most = Math.max(most, await memory(server))
    }
  }
  const messages = idle.map((was, i) => {
    const is = during[i] as Figures
    return `p95 ${was.p95.toFixed(1)} → ${is.p95.toFixed(1)} ms (${(is.p95 / was.p95).toFixed(2)} times), slowest ${is.slowest.toFixed(0)} ms, failed ${is.failed}`
  })
  await new Promise((resolve) => setTimeout(resolve, Number(options.after) * 1_000))
  const after = ((await memory(server)) / before).toFixed(2)
  print(
    `${attack.name}: GET ${messages[0]}; PUT ${messages[1]}; memory ${before.toFixed(0)} MiB, +${(most - before).toFixed(0)}, ${after} times ${options.after} s after`,
  )
}

const here = new URL("./hostile/", import.meta.url)
for (const file of readdirSync(here).filter((name) => name.endsWith(".ts") && name !== "attack.ts")) {
  const { attacks } = (await import(new URL(file, here).href)) as { attacks: readonly Attack[] }
  for (const attack of attacks) if (attack.name.includes(options.only)) await run(attack)
}
