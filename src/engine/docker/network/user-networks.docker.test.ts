import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { promisify } from "node:util"
import { ManualClock } from "#kit"
import { EngineError } from "../../engine.ts"
import { DockerClient } from "../client/docker-client.ts"
import { type AddressLease, UserNetworks } from "./user-networks.ts"

const run = promisify(execFile)
const never = new AbortController().signal
/** More than a daemon's default pools can provide. */
const people = 32
const idleMs = 1_000

async function openNetworks(
  pool: string,
): Promise<AsyncDisposable & { networks: UserNetworks; clock: ManualClock; names(): Promise<string[]> }> {
  const instance = `test-${randomBytes(4).toString("hex")}`
  const clock = new ManualClock()
  const names = async () => {
    const { stdout } = await run("docker", ["network", "ls", "--format", "{{.Name}}", "--filter", `label=quayside.instance=${instance}`])
    return stdout.split("\n").filter((name) => name !== "")
  }
  return {
    networks: new UserNetworks(new DockerClient(), { instance, pool, idleMs, confined: true, clock }),
    clock,
    names,
    async [Symbol.asyncDispose]() {
      for (const name of await names()) await run("docker", ["network", "rm", name])
    },
  }
}

const lease = (networks: UserNetworks, user: string) => networks.lease({ user, group: "" }, never)

test(`${people} people who start at once get a network each, removed after use`, async () => {
  await using it = await openNetworks("10.215.0.0/20")
  const leases = await Promise.all(Array.from({ length: people }, (_, n) => lease(it.networks, `person${n}`)))
  const repeated = await lease(it.networks, "person0")
  assert.equal(new Set(leases.map(({ network }) => network)).size, people)
  assert.equal(new Set([...leases, repeated].map(({ address }) => address)).size, people + 1)
  assert.equal(repeated.network, leases[0]?.network)
  assert.equal((await it.names()).length, people)
  for (const each of [...leases, repeated]) each[Symbol.dispose]()
  await it.clock.advance(idleMs)
  for (let left = people; left > 0; left = (await it.names()).length) await it.networks.removeIdle(new Map())
})

test("a start fails when the pool is exhausted, and succeeds after an unused network was removed", async () => {
  await using it = await openNetworks("10.215.16.0/24")
  const leases: AddressLease[] = []
  for (let n = 0; n < 8; n += 1) leases.push(await lease(it.networks, `person${n}`))
  const isFull = (error: unknown) =>
    error instanceof EngineError && /no room .* 10\.215\.16\.0\/24: the administrator can choose/.test(error.message)
  await assert.rejects(lease(it.networks, "late"), isFull)
  leases[3]?.[Symbol.dispose]()
  await it.clock.advance(idleMs)
  await it.networks.removeIdle(new Map())
  await assert.rejects(lease(it.networks, "late"), isFull)
  await it.clock.advance(600_000)
  using late = await lease(it.networks, "late")
  assert.equal(late.network, leases[3]?.network)
})
