import assert from "node:assert/strict"
import { after, before, describe, test } from "node:test"
import { silentLogger } from "#kit"
import { startDockerEngine, type TestDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import type { RunSpec } from "../../engine.ts"

const never = new AbortController().signal
const ignore = () => {}
/** A network of eight addresses has room for five containers. */
const [networkPrefix, room, count] = [29, 5, 12]

const warnings: unknown[][] = []
let rig: TestDockerEngine
let specs: RunSpec[]
before(async () => {
  const logger = { ...silentLogger, warn: (...entry: unknown[]) => void warnings.push(entry) }
  rig = await startDockerEngine({ networkPrefix, networkPool: "10.215.32.0/24", logger })
  const serving = { image: rig.image, command: ["sh", "-c", "exec httpd -f -p 8080 -h /www"], memoryMiB: 32 }
  specs = Array.from({ length: count }, () => specOf(serving))
})
after(() => rig[Symbol.asyncDispose]())

describe("more runs of one person than addresses on a network", () => {
  test("more runs than addresses start on further networks, four at a time, during observations", async () => {
    const pending = [...specs]
    const worker = async () => {
      for (let spec = pending.shift(); spec; spec = pending.shift()) {
        await rig.engine.start(spec, ignore, never)
        await rig.engine.observe()
      }
    }
    await Promise.all(Array.from({ length: 4 }, worker))
    assert.equal((await rig.networks()).length, Math.ceil(count / room))
    assert.deepEqual(
      warnings.filter((entry) => JSON.stringify(entry).includes("interrupted start")),
      [],
    )
  })

  test("no run reaches another of its person, on the same network or on others", async () => {
    const addresses = await Promise.all(specs.map(async ({ key }) => (await rig.engine.address(key, 8080))?.host ?? ""))
    assert.equal(new Set(addresses).size, count)
    for (const address of addresses)
      assert.equal((await fetch(`http://${address}:8080/`, { signal: AbortSignal.timeout(5_000) })).status, 200)
    const tries = addresses.map((address) => `(nc -w 2 ${address} 8080 </dev/null >/dev/null 2>&1 && echo ${address}) &`)
    assert.equal(await rig.output(`${tries.join("\n")}\nwait; echo tried`, { memoryMiB: 64 }), "tried")
  })
})

describe("a full network and a restart with many runs", () => {
  test("the engine uses another network when one is full", async () => {
    // The engine's own account of addresses counts: another client uses those of the network with
    // room.
    const networks = await rig.networks()
    const label = `quayside-test=${rig.instance}`
    let count = 0
    for (const name of networks) {
      for (;;) {
        const id = await rig
          .docker("run", "--detach", "--label", label, "--network", name, rig.image, "sleep", "1000")
          .catch(() => undefined)
        if (id === undefined) break
        count += 1
      }
    }
    try {
      assert.ok(count > 0)
      const spec = specOf({ image: rig.image, command: ["sleep", "1000"] })
      await rig.engine.start(spec, ignore, never)
      assert.equal((await rig.networks()).length, networks.length + 1)
    } finally {
      // Those that found no room are created and not started.
      const others = await rig.docker("ps", "--all", "--quiet", "--filter", `label=${label}`)
      await rig.docker("rm", "--force", ...others.split("\n"))
    }
  })

  test("lists show states and addresses right after a restart, and details follow within moments", async () => {
    await using repeated = await rig.open()
    const [observed, addresses] = await Promise.all([repeated.observe(), Promise.all(specs.map(({ key }) => repeated.address(key, 8080)))])
    const keys = new Set(observed.filter(({ state }) => state === "running").map(({ key }) => key))
    assert.ok(specs.every(({ key }) => keys.has(key)))
    for (const address of addresses) {
      assert.match(address?.host ?? "", /^10\.215\.32\./)
      assert.equal(address?.isCurrent?.(), true)
    }
    for (let unknown = count; unknown > 0; ) unknown = (await repeated.observe()).filter(({ startedAt }) => startedAt === null).length
    assert.ok(addresses.every((address) => address?.isCurrent?.()))
    await rig.docker("kill", `quayside-${specs[0]?.key}`)
    assert.equal(addresses[0]?.isCurrent?.(), false)
  })
})
