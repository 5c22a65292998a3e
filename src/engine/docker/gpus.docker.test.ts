import assert from "node:assert/strict"
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { startDockerEngine } from "../../../test/fixtures/docker/docker-engine.ts"
import { privateDaemon } from "../../../test/fixtures/docker/dockerd.ts"
import { fakeNvidiaSmi } from "../../../test/fixtures/docker/fake-nvidia-smi.ts"
import { captures, ids, unreadable } from "../../../test/fixtures/docker/nvidia-smi-output.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"

const never = new AbortController().signal
const ignore = () => {}

test("a start with a GPU fails with a sentence and leaves nothing on a machine without the container toolkit", async () => {
  await using tool = await fakeNvidiaSmi(captures.h100)
  await using rig = await startDockerEngine({ gpuToolPath: tool.path })
  const spec = specOf({ image: rig.image, command: ["sleep", "1000"], gpus: [ids.h100] })
  await assert.rejects(rig.engine.start(spec, ignore, never), {
    code: "insufficient_gpu",
    message: "The container engine has no working driver for this machine's GPUs",
  })
  assert.deepEqual(await rig.engine.observe(), [])
})

test("a device that another installation's container holds is not offered and not handed out", async () => {
  await using tool = await fakeNvidiaSmi(captures.h100 + captures.rtx2080)
  await using rig = await startDockerEngine({ gpuToolPath: tool.path })
  const usable = async () => (await rig.engine.capacity())[0]?.gpus.flatMap(({ id, fault }) => (fault === undefined ? [id] : []))
  assert.deepEqual(await usable(), [ids.h100, ids.rtx2080])
  const labels = ["quayside.instance=somebody-else", `quayside.key=${"a".repeat(32)}`, `quayside.gpus=${ids.h100}`]
  const foreign = await rig.docker("create", ...labels.flatMap((label) => ["--label", label]), rig.image, "true")
  try {
    assert.deepEqual(await usable(), [ids.rtx2080])
    const spec = specOf({ image: rig.image, gpus: [ids.h100] })
    await assert.rejects(rig.engine.start(spec, ignore, never), { message: `The GPU ${ids.h100} is still in use by another container` })
  } finally {
    await rig.docker("rm", foreign)
  }
  assert.deepEqual(await usable(), [ids.h100, ids.rtx2080])
})

test("a container gets exactly its devices from the daemon, and its run their load, until they have a fault", async () => {
  await using tool = await fakeNvidiaSmi(captures.h100 + captures.rtx2080)
  const folder = await mkdtemp(join(tmpdir(), "quayside-gpu-hook-"))
  const requested = join(folder, "requested")
  // Stands in for NVIDIA's own hook, which the daemon runs for containers with devices only.
  const bundle = `bundle=$(sed 's/.*"bundle":"\\([^"]*\\)".*/\\1/')`
  const hook = `#!/bin/sh\n${bundle}\ngrep -o 'NVIDIA_VISIBLE_DEVICES=[^"]*' "$bundle/config.json" >>${requested}\n`
  await writeFile(join(folder, "nvidia-container-runtime-hook"), hook)
  await chmod(join(folder, "nvidia-container-runtime-hook"), 0o755)
  await using daemon = await privateDaemon({ dataMiB: 64, programs: folder })
  await daemon.start()
  await using rig = await startDockerEngine({ socketPath: daemon.socketPath, gpuToolPath: tool.path })
  const print = { image: rig.image, command: ["sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES; exec sleep 1000"] }

  const [one, none] = [specOf({ ...print, gpus: [ids.rtx2080] }), specOf({ ...print, env: { NVIDIA_VISIBLE_DEVICES: "all" } })]
  for (const spec of [one, none]) await rig.engine.start(spec, ignore, never)
  const inspected = await rig.docker("inspect", "--format", "{{json .HostConfig.DeviceRequests}}", `quayside-${one.key}`)
  assert.deepEqual(
    JSON.parse(inspected).map(({ Driver, Count, DeviceIDs }: Record<string, unknown>) => [Driver, Count, DeviceIDs]),
    [["nvidia", 0, [ids.rtx2080]]],
  )
  assert.equal(await rig.docker("inspect", "--format", "{{json .HostConfig.DeviceRequests}}", `quayside-${none.key}`), "null")
  const requests = (await readFile(requested, "utf8")).trim().split("\n")
  assert.deepEqual([...new Set(requests)], [`NVIDIA_VISIBLE_DEVICES=${ids.rtx2080}`])

  await rig.engine.observe()
  const loads = new Map((await rig.engine.stats()).map(({ key, gpuMemory, gpuBusy }) => [key, [gpuMemory, gpuBusy]]))
  assert.deepEqual(
    [loads.get(one.key), loads.get(none.key)],
    [
      [214 * 2 ** 20, 0],
      [null, null],
    ],
  )

  await tool.print(captures.h100 + unreadable(ids.rtx2080, "NVIDIA GeForce RTX 2080 SUPER", "[GPU is lost]"))
  await rig.engine.stop(one.key, { graceMs: 0 })
  const fresh = await rig.open()
  await assert.rejects(fresh.start(specOf({ ...print, gpus: [ids.rtx2080] }), ignore, never), {
    code: "insufficient_gpu",
    message: `The GPU ${ids.rtx2080} cannot be used: it has fallen off the bus`,
  })
  await fresh[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})
