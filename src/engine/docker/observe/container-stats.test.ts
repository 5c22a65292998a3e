import assert from "node:assert/strict"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { test } from "node:test"
import { readContainerStats } from "./container-stats.ts"

const id = "c".repeat(64)
const container = (pid: number, gpuDevices: string[] = []) => ({ key: "k".repeat(32), id, pid, gpuDevices })
const noGpus = { usage: async () => new Map() }
const unknown = { cpuSeconds: null, memory: null, oomKills: null, gpuMemory: null, gpuBusy: null, networkIn: null, networkOut: null }
const interfaces = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     999       1    0    0    0     0          0         0      999       1    0    0    0     0       0          0
  eth0:    1000       9    0    0    0     0          0         0      200       3    0    0    0     0       0          0
`

/** A directory with the kernel's statistics. */
async function statsSources(files: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(tmpdir(), "quayside-stats-"))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return {
    root,
    proc: join(root, "proc"),
    cgroups: join(root, "groups"),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true }),
  }
}

test("control groups of version 1 and 2 give the same figures", async () => {
  const old = await statsSources({
    "proc/7/cgroup": `12:cpu,cpuacct:/docker/${id}\n5:memory:/docker/${id}\n0::/docker/${id}\n`,
    "proc/7/net/dev": interfaces,
    [`groups/cpuacct/docker/${id}/cpuacct.usage`]: "2500000000\n",
    [`groups/memory/docker/${id}/memory.usage_in_bytes`]: "5000\n",
    [`groups/memory/docker/${id}/memory.stat`]: "inactive_file 1\ntotal_inactive_file 1000\n",
    [`groups/memory/docker/${id}/memory.oom_control`]: "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n",
  })
  const unified = await statsSources({
    "proc/7/cgroup": `0::/system.slice/docker-${id}.scope\n`,
    "proc/7/net/dev": interfaces,
    [`groups/system.slice/docker-${id}.scope/cpu.stat`]: "usage_usec 2500000\nuser_usec 1\n",
    [`groups/system.slice/docker-${id}.scope/memory.current`]: "5000\n",
    [`groups/system.slice/docker-${id}.scope/memory.stat`]: "anon 3\ninactive_file 1000\n",
    [`groups/system.slice/docker-${id}.scope/memory.events`]: "max 9\noom 4\noom_kill 3\noom_group_kill 0\n",
  })
  const figures = { ...unknown, key: "k".repeat(32), cpuSeconds: 2.5, memory: 4000, oomKills: 3, networkIn: 1000, networkOut: 200 }
  for (const tree of [old, unified]) {
    await using sources = tree
    assert.deepEqual(await readContainerStats([container(7)], noGpus, undefined, sources), [figures])
  }
})

test("a container that has lost its interfaces has no figures of traffic", async () => {
  await using tree = await statsSources({
    "proc/7/cgroup": `0::/docker/${id}\n`,
    "proc/7/net/dev": interfaces.replace(/^ *eth0.*\n/m, ""),
    [`groups/docker/${id}/memory.current`]: "5000\n",
  })
  assert.deepEqual(await readContainerStats([container(7)], noGpus, undefined, tree), [{ key: "k".repeat(32), ...unknown, memory: 5000 }])
})

test("a process that is gone or not the container's has only null figures", async () => {
  await using tree = await statsSources({
    "proc/7/cgroup": "0::/user.slice/somebody\n",
    "proc/7/net/dev": interfaces,
    "proc/8/cgroup": `0::/docker/${id}\n`,
  })
  for (const pid of [7, 8, 9, 0])
    assert.deepEqual(await readContainerStats([container(pid)], noGpus, undefined, tree), [{ key: "k".repeat(32), ...unknown }])
})

test("GPUs are queried once: memory is summed, utilization averaged, and an unknown figure makes both null", async () => {
  await using tree = await statsSources({})
  let queries = 0
  const usage = async () => {
    queries += 1
    return new Map([
      ["GPU-a", { memory: 1024, busy: 0.5 }],
      ["GPU-b", { memory: 512, busy: 1 }],
      ["GPU-c", { memory: null, busy: 0.03 }],
    ])
  }
  const gpuFigures = async (devices: string[][]) => {
    const stats = await readContainerStats(
      devices.map((each) => container(0, each)),
      { usage },
      undefined,
      tree,
    )
    return stats.map(({ gpuMemory, gpuBusy }) => [gpuMemory, gpuBusy])
  }
  const all = [["GPU-a", "GPU-b"], ["GPU-c"], ["GPU-gone"], ["mock-0"], []]
  assert.deepEqual(await gpuFigures(all), [
    [1536, 0.75],
    [null, 0.03],
    [null, null],
    [null, null],
    [null, null],
  ])
  assert.equal(queries, 1)
  await gpuFigures([["mock-0"], []])
  assert.equal(queries, 1, "no run has an NVIDIA device")
})
