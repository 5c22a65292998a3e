// Compares a start with eight datasets with and without isolation (pinned mounts, firewall). Then
// measures one reading of the engine's state with runs of many people.
//   node bench/isolation.ts [--people 200]
import { randomBytes } from "node:crypto"
import { parseArgs } from "node:util"
import type { Engine, RunSpec } from "#engine"
import { startDockerEngine } from "../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../test/fixtures/run-spec.ts"
import { median, spread } from "./tools.ts"

const repeats = 15
const print = (line: string) => process.stdout.write(`${line}\n`)
const { values } = parseArgs({ options: { people: { type: "string", default: "200" } } })
// The engine's timers do not keep an otherwise idle process alive.
const awake = setInterval(() => {}, 60_000)
const never = new AbortController().signal

await using rig = await startDockerEngine()
const sources = await Promise.all(Array.from({ length: 8 }, (_, n) => rig.directory(`data${n}`)))
const mounts = sources.map((source, n) => ({ source, target: `/data/${n}`, readOnly: n % 2 === 0 }))
const sleeper = (user: string, more: Partial<RunSpec> = {}): RunSpec => ({
  ...specOf({ image: rig.image, command: ["sleep", "100000"] }),
  user,
  ...more,
})

async function startOn(engine: Engine): Promise<number> {
  const spec = sleeper("ann", { mounts, key: randomBytes(16).toString("hex") })
  const startedAt = performance.now()
  await engine.start(spec, () => {}, never)
  const durationMs = performance.now() - startedAt
  await engine.stop(spec.key, { graceMs: 0 })
  return durationMs
}

{
  await using off = await rig.open({ isolation: "off", firewall: "off" })
  const [isolated, bare]: [number[], number[]] = [[], []]
  await startOn(rig.engine)
  await startOn(off)
  for (let n = 0; n < repeats; n += 1) {
    isolated.push(await startOn(rig.engine))
    bare.push(await startOn(off))
  }
  print(`start with 8 datasets: ${spread(isolated)} ms; without isolation: ${spread(bare)} ms`)
  print(`difference of the medians: ${(median(isolated) - median(bare)).toFixed(0)} ms (needed ≤ 100, aim 40)`)
}

const people = Array.from({ length: Number(values.people) }, (_, n) => sleeper(`person${n}`, { memoryMiB: 16 }))
if (people.length > 0) {
  const startedAt = performance.now()
  for (let n = 0; n < people.length; n += 4) {
    await Promise.all(people.slice(n, n + 4).map((spec) => rig.engine.start(spec, () => {}, never)))
  }
  print(`${people.length} people's first runs, four at a time: ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`)
  const looks: number[] = []
  for (let n = 0; n < 10; n += 1) {
    const looked = performance.now()
    const seen = await rig.engine.observe()
    looks.push(performance.now() - looked)
    if (seen.filter(({ state }) => state === "running").length !== people.length) throw new Error(`${seen.length} runs were seen`)
  }
  print(
    `observing them, rules checked: ${spread(looks.slice(1))} ms, the first time ${looks[0]?.toFixed(0)} ms (needed ≤ 2,000, aim 1,000)`,
  )
  print(`networks: ${(await rig.networks()).length}`)
  for (let n = 0; n < people.length; n += 4)
    await Promise.all(people.slice(n, n + 4).map(({ key }) => rig.engine.stop(key, { graceMs: 0 })))
}
// One disposal removes only as many networks as a few seconds allow.
while ((await rig.networks()).length > 0) await rig.engine[Symbol.asyncDispose]()
clearInterval(awake)
