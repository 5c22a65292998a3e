import assert from "node:assert/strict"
import { after, describe, test } from "node:test"
import type { RunningProject } from "#contract"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { openDockerSocket } from "../fixtures/docker/docker-socket.ts"
import { privateDaemon } from "../fixtures/docker/dockerd.ts"
import { fakeNvidiaSmi } from "../fixtures/docker/fake-nvidia-smi.ts"
import { loadForeignImage } from "../fixtures/docker/foreign-image.ts"
import { captures } from "../fixtures/docker/nvidia-smi-output.ts"
import { startRegistry } from "../fixtures/docker/registry.ts"
import { type Fault, type FaultyRun, startFaultServer } from "./fault-server.ts"
import { allFaults } from "./faults.ts"

await using stack = new AsyncDisposableStack()
const registry = stack.use(await startRegistry())
const foreign = stack.use(await loadForeignImage())
const busybox = await ensureBusyboxImage()
const rig = stack.use(await startFaultServer({}))
const owned = stack.move()
after(() => owned.disposeAsync())

const world = { registry, busybox, foreign: foreign.name }
const seen: { run: FaultyRun; ended: RunningProject }[] = []

const engineDown: Omit<Fault, "name" | "image"> = {
  code: "engine_unreachable",
  msg: /^The container engine cannot be reached$/,
  hint: /systemctl status docker/,
  withinS: 10,
}

describe("a start with this fault ends with a reason that names it", { concurrency: 8 }, () => {
  for (const fault of allFaults(world))
    test(fault.name, async () => {
      const run = await rig.start(fault)
      seen.push({ run, ended: await run.check() })
    })

  test("a registry that goes down in the middle of an image is named by the progress", async () => {
    const failing = await startRegistry()
    const fault: Fault = { ...engineDown, name: "registry down", image: `${failing.host}/stuck/image` }
    const run = await rig.start(fault)
    await run.progress(/^downloading$/)
    await failing[Symbol.asyncDispose]()
    await run.progress(new RegExp(`^the registry ${failing.host} broke off; trying again$`))
    await run.stop()
  })

  test("an engine that is down, before a start or in the middle of an image", async () => {
    await using socket = await openDockerSocket()
    await using cut = await startFaultServer({ "docker-socket": socket.path })
    const during = await cut.start({ ...engineDown, name: "engine down during", image: `${registry.host}/stuck/image` })
    await during.progress(/^downloading$/)
    socket.disconnect()
    await during.check()
    await (await cut.start({ ...engineDown, name: "engine down before", image: busybox })).check()
    socket.connect()
  })

  test("a GPU whose driver the engine lacks", async () => {
    await using tool = await fakeNvidiaSmi(captures.h100)
    await using driverless = await startFaultServer({}, { gpuToolPath: tool.path })
    const fault: Fault = {
      name: "GPU without driver",
      image: busybox,
      fields: { image: { Command: "httpd -f -p 8000" }, start: { Gpus: 1 } },
      code: "insufficient_gpu",
      msg: /^The container engine has no working driver for this machine's GPUs$/,
      hint: /NVIDIA Container Toolkit/,
      withinS: 10,
    }
    await (await driverless.start(fault)).check()
  })

  test("an engine whose disk is full", async () => {
    await using daemon = await privateDaemon({ dataMiB: 64 })
    await daemon.start()
    const image = await ensureBusyboxImage(daemon.socketPath)
    const settings = { "docker-socket": daemon.socketPath, isolation: "off", "network-pool": "10.251.0.0/16" }
    await using full = await startFaultServer(settings)
    await daemon.fill()
    const fault: Fault = {
      name: "disk full",
      image,
      code: "disk_full",
      msg: /^The disk of the container engine is full$/,
      hint: /docker image prune/,
      withinS: 10,
    }
    await (await full.start(fault)).check()
  })
})

test("every reason is readable after a restart", async () => {
  assert.ok(seen.length >= 20)
  await rig.server.restart()
  for (const { run, ended } of seen) assert.deepEqual((await run.read()).Reason, ended.Reason)
})
