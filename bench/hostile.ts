// What an attack costs somebody else: p95 of their GET idle and while it is under way, and how much more memory all processes have. The attacks stand in bench/hostile/: each file there exports
// `attacks`, and is found by itself.
//   node bench/hostile.ts [--only WORD] [--seconds 5]

import { readdirSync } from "node:fs"
import { parseArgs } from "node:util"
import { basic, bearer, createClient } from "#client"
import { type ServerProcess, startServer } from "../test/server.ts"
import type { Attack } from "./hostile/attack.ts"
import { family, memoryOf } from "./tools.ts"

const { values: options } = parseArgs({ options: { only: { type: "string", default: "" }, seconds: { type: "string", default: "5" } } })
const print = (line: string) => process.stdout.write(`${line}\n`)

interface Figures {
  p95: number
  slowest: number
  failed: number
}

/** A GET every 20 ms by somebody who is signed in, over connections of their own. */
async function ask(url: string, headers: Record<string, string>): Promise<Figures> {
  const times: number[] = []
  let failed = 0
  const until = performance.now() + Number(options.seconds) * 1_000
  while (performance.now() < until) {
    const began = performance.now()
    const isRight = await fetch(url, { headers }).then(
      async (response) => (await response.arrayBuffer()) && response.ok,
      () => false,
    )
    if (!isRight) failed += 1
    times.push(performance.now() - began)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const sorted = times.toSorted((a, b) => a - b)
  return { p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, slowest: sorted.at(-1) ?? 0, failed }
}

async function memory({ child }: ServerProcess): Promise<number> {
  let sum = 0
  for (const pid of await family(child.pid as number)) sum += memoryOf(pid, "Pss")
  return sum
}

async function run(attack: Attack): Promise<void> {
  await using server = await startServer({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_LOG_LEVEL: "error" })
  const { Token } = await createClient({ baseUrl: server.baseUrl, authorization: basic("admin", server.password) }).createToken({
    body: { Name: "bench" },
  })
  const url = `${server.baseUrl}/whoami`
  const headers = { authorization: bearer(Token) }
  await ask(url, headers)
  const before = await memory(server)
  const idle = await ask(url, headers)
  using _attack = await attack.begin(server)
  const during = await ask(url, headers)
  const more = (await memory(server)) - before
  const ratio = (during.p95 / idle.p95).toFixed(2)
  print(
    `${attack.name}: p95 ${idle.p95.toFixed(1)} → ${during.p95.toFixed(1)} ms (${ratio} times), slowest ${during.slowest.toFixed(0)} ms, ` +
      `failed ${during.failed}; memory ${before.toFixed(0)} MiB, ${more >= 0 ? "+" : ""}${more.toFixed(0)}`,
  )
}

const here = new URL("./hostile/", import.meta.url)
for (const file of readdirSync(here).filter((name) => name.endsWith(".ts") && name !== "attack.ts")) {
  const { attacks } = (await import(new URL(file, here).href)) as { attacks: readonly Attack[] }
  for (const attack of attacks) if (attack.name.includes(options.only)) await run(attack)
}
