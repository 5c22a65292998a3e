import assert from "node:assert/strict"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { type Logger, ManualClock } from "#kit"
import { fakeNvidiaSmi } from "../../../test/fixtures/docker/fake-nvidia-smi.ts"
import { captures, ids, messages, unreadable } from "../../../test/fixtures/docker/nvidia-smi-output.ts"
import { EngineError } from "../engine.ts"
import { NvidiaGpus } from "./nvidia-gpus.ts"

/** Devices behind a fake program, and a clock by which each query is a new one. */
async function nvidiaGpus(text: string, options: { isRequired?: boolean; timeoutMs?: number } = {}) {
  const tool = await fakeNvidiaSmi(text)
  const clock = new ManualClock()
  const logged: string[] = []
  const log = (level: string) => (details: object, message: string) => void logged.push(`${level} ${message} ${JSON.stringify(details)}`)
  const logger = { info: log("info"), warn: log("warn"), error: log("error") } as unknown as Logger
  const gpus = new NvidiaGpus({ isRequired: false, gpuToolPath: tool.path, clock, logger, ...options })
  const faults = async () => {
    await clock.advance(5_000)
    return Object.fromEntries((await gpus.devices()).map(({ id, fault }) => [id, fault ?? "none"]))
  }
  return { tool, clock, gpus, logged, faults, [Symbol.asyncDispose]: () => tool[Symbol.asyncDispose]() }
}

test("a device that falls off the bus has a fault until it answers again, and both are logged", async () => {
  await using fixture = await nvidiaGpus(captures.h100 + captures.rtx2080)
  const { tool, faults, logged } = fixture
  assert.deepEqual(await faults(), { [ids.h100]: "none", [ids.rtx2080]: "none" })
  await tool.print(unreadable(ids.h100, "NVIDIA H100 80GB HBM3", "[GPU is lost]") + captures.rtx2080)
  assert.deepEqual(await faults(), { [ids.h100]: "it has fallen off the bus", [ids.rtx2080]: "none" })
  const [lost] = await fixture.gpus.devices()
  assert.deepEqual([lost?.model, lost?.memoryMiB], ["NVIDIA H100 80GB HBM3", 81_559], "what was known stays known")
  await tool.print(captures.h100 + captures.rtx2080)
  assert.deepEqual(await faults(), { [ids.h100]: "none", [ids.rtx2080]: "none" })
  assert.deepEqual(
    logged.filter((line) => line.includes(ids.h100)).map((line) => line.split(" {")[0]),
    ["info found a GPU", "error a GPU cannot be used; no run gets it", "info a GPU can be used again"],
  )
})

test("a device that is no longer listed has a fault, and the others work", async () => {
  await using fixture = await nvidiaGpus(captures.h100 + captures.rtx2080)
  await fixture.faults()
  await fixture.tool.print(messages.handleNewer + captures.rtx2080)
  assert.deepEqual(await fixture.faults(), { [ids.h100]: "it does not answer any more", [ids.rtx2080]: "none" })
})

test("the other devices are asked one by one if an older driver lists none because of one", async () => {
  await using fixture = await nvidiaGpus(captures.h100 + captures.rtx2080)
  await fixture.faults()
  await fixture.tool.run(
    `case "$*" in *--id=${ids.rtx2080}*) printf '${captures.rtx2080.trim()}\\n' ;; *) printf '${messages.handle.trim()}\\n'; exit 15 ;; esac`,
  )
  assert.deepEqual(await fixture.faults(), { [ids.h100]: "it does not answer any more", [ids.rtx2080]: "none" })
})

for (const [what, text, status] of [
  ["the driver is not loaded", messages.driver, 9],
  ["the driver was updated without a restart", messages.mismatch, 18],
  ["no device is found", messages.none, 6],
] as const) {
  test(`all devices have a fault after two queries, not one, when ${what}`, async () => {
    await using fixture = await nvidiaGpus(captures.h100)
    await fixture.faults()
    await fixture.tool.print(text, status)
    assert.deepEqual(await fixture.faults(), { [ids.h100]: "none" })
    assert.deepEqual(await fixture.gpus.usage(), new Map(), "the load is unknown at once")
    assert.deepEqual(await fixture.faults(), { [ids.h100]: "it does not answer any more" })
    assert.ok(fixture.logged.some((line) => line.startsWith("warn nvidia-smi reports a problem") && line.includes(text.trim())))
    await fixture.tool.print(captures.h100)
    assert.deepEqual(await fixture.faults(), { [ids.h100]: "none" })
  })
}

test("a field that an older driver lacks is left out from then on", async () => {
  await using fixture = await nvidiaGpus("")
  const row = captures.h100.replace("None, ", "").trim()
  await fixture.tool.run(
    `case "$*" in *gpu_recovery_action*) printf '${messages.unknownField("gpu_recovery_action").trim()}\\n'; exit 2 ;; *) echo '${row}' ;; esac`,
  )
  assert.deepEqual(await fixture.faults(), { [ids.h100]: "none" })
  await fixture.faults()
  assert.deepEqual(
    (await fixture.tool.calls()).map((line) => line.includes("gpu_recovery_action")),
    [true, false, false],
  )
})

test("a program that hangs is called once, holds up nobody for long, and is forgotten when it ends", async () => {
  await using fixture = await nvidiaGpus(captures.h100, { timeoutMs: 1_500 })
  await fixture.faults()
  // Its child keeps the output open after the program was killed.
  await fixture.tool.run("sleep 5")
  await fixture.faults()
  assert.deepEqual(await fixture.faults(), { [ids.h100]: "it does not answer any more" })
  assert.match(fixture.logged.join("\n"), /nvidia-smi did not end within 1.5 s/)
  await fixture.tool.print(captures.h100)
  assert.deepEqual(await fixture.faults(), { [ids.h100]: "none" })
})

test("concurrent callers share one query, and later ones its result for 5 s", async () => {
  await using fixture = await nvidiaGpus(captures.h100)
  const [devices, usage] = await Promise.all([fixture.gpus.devices(), fixture.gpus.usage()])
  assert.deepEqual(devices.length, 1)
  assert.deepEqual(usage.get(ids.h100), { memory: 19_818 * 2 ** 20, busy: 1 })
  await fixture.gpus.devices()
  assert.equal((await fixture.tool.calls()).length, 1)
})

test("nvidia-smi receives none of the server's environment", async () => {
  await using fixture = await nvidiaGpus(captures.h100)
  process.env.QUAYSIDE_ADMIN_PASSWORD = "a secret of the server"
  try {
    await fixture.tool.run(`env >${join(fixture.tool.path, "environment")}`)
    await fixture.faults()
  } finally {
    delete process.env.QUAYSIDE_ADMIN_PASSWORD
  }
  const names = (await readFile(join(fixture.tool.path, "environment"), "utf8"))
    .trim()
    .split("\n")
    .map((line) => line.split("=")[0])
  // The shell of the fake program sets `PWD`, and some shells set more.
  assert.deepEqual(new Set(names).difference(new Set(["PWD", "OLDPWD", "SHLVL", "_"])), new Set(["PATH", "LC_ALL"]))
})

test("a machine without nvidia-smi has no devices, and says so once", async () => {
  await using fixture = await nvidiaGpus("")
  await rm(join(fixture.tool.path, "nvidia-smi"))
  for (let n = 0; n < 3; n += 1) assert.deepEqual(await fixture.faults(), {})
  assert.deepEqual(fixture.logged, ['info found no NVIDIA GPUs {"message":"nvidia-smi is not installed"}'])
})

test("required devices that are missing or have a fault fail the preparation with a sentence", async () => {
  const empty = await mkdtemp(join(tmpdir(), "quayside-no-tool-"))
  const missing = new NvidiaGpus({ isRequired: true, gpuToolPath: empty })
  await assert.rejects(missing.prepare(), new EngineError("insufficient_gpu", "No NVIDIA GPU can be used: nvidia-smi is not installed"))
  await rm(empty, { recursive: true })
  await using split = await nvidiaGpus(captures.h100Mig, { isRequired: true })
  await assert.rejects(split.gpus.prepare(), /No NVIDIA GPU can be used: each has a fault/)
  await using working = await nvidiaGpus(captures.h100 + captures.h100Mig.replace(ids.h100, ids.l40s), { isRequired: true })
  await working.gpus.prepare()
})
