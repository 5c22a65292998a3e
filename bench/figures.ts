// Processor time and memory of the supervisor for 1,000 idle runs on the fake engine, without and
// with their usage stored; and of one sample of Docker containers.
// Usage: figures.ts [RUNS] [CONTAINERS]
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine, type Engine, openFakeDaemon } from "#engine"
import { silentLogger, systemClock } from "#kit"
import { openRuns, type StartRequest } from "#runs"
import { openStore, type Store } from "#store"
import { startDockerEngine } from "../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../test/fixtures/run-spec.ts"
import { memoryOf } from "./tools.ts"

const count = Number(process.argv[2] ?? 1_000)
const containers = Number(process.argv[3] ?? 20)
const watchedMs = 60_000
const print = (line: string) => process.stdout.write(`${line}\n`)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const directory = await mkdtemp(join(tmpdir(), "quayside-bench-"))
// An engine's own handles do not keep the process alive.
const alive = setInterval(() => {}, 1_000)
try {
  await measureRuns()
  await measureDocker()
} finally {
  clearInterval(alive)
  await rm(directory, { recursive: true })
}

/** The requests of as many people, each for a run. */
async function populate(store: Store): Promise<StartRequest[]> {
  const limits = {
    MaxRuns: null,
    MaxCpus: null,
    MaxMemory: null,
    MaxGpus: null,
    MaxRunHours: null,
    IdleMinutes: null,
    MaxDisk: null,
    MaxStorage: null,
  }
  const person = { passwordHash: null, email: "", comment: "", isAdmin: false, isDisabled: false, limits }
  const plan = {
    type: "http" as const,
    image: "fake/http",
    imageByAdmin: true,
    command: null,
    env: {},
    port: null,
    workDir: "/work/code",
    home: "/work/home",
    mounts: [],
    secret: "sesame",
  }
  const resources = { cpus: 1, memoryMiB: 64, gpus: 0, nodes: 0, gpuMemoryMiB: 0 }
  return store.change(async (tx) => {
    const requests: StartRequest[] = []
    const owner = (await tx.users.insert({ ...person, userName: "owner" })).id
    const common = { userId: owner, comment: "", doc: "", isTrusted: false, writtenBy: 0 }
    const texts = { command: "", env: "", port: "", writablePaths: [], keepPresent: false }
    const image = await tx.images.insert({ ...common, ...texts, name: "i", image: "fake/http", isPublished: true })
    const paths = { userPath: "", codePath: "", modelPath: "", startMinutes: 0, idleMinutes: 0, maxRunHours: 0 }
    const project = { ...common, ...paths, projectName: "p", type: "http" as const, isPublic: true, imageId: image.id, groupId: 0 }
    const projectId = (await tx.projects.insert(project)).id
    for (let n = 0; n < count; n += 1) {
      const { id, userName } = await tx.users.insert({ ...person, userName: `person${n}` })
      requests.push({ userId: id, userName, projectId, plan, resources })
    }
    return requests
  })
}

async function measureRuns(): Promise<void> {
  await using store = await openStore({ url: `sqlite:${join(directory, "quayside.db")}`, logger: silentLogger, clock: systemClock })
  await using daemon = await openFakeDaemon({ clock: systemClock })
  const engine = await createEngine({ kind: "fake", daemon, instance: "bench", cpus: 10 * count, memoryMiB: 1_000 * count, mockGpus: 0 })
  const requests = await populate(store)
  {
    await using runs = await openRuns({ store, engine })
    runs.startSupervisor()
    while (requests.length > 0) {
      const some = await Promise.all(requests.splice(0, 50).map((request) => runs.start(request)))
      for (const { id } of some) await runs.waitUntilSettled(id)
    }
    print(`${runs.targets().filter(({ state }) => state === "ready").length} of ${count} runs are ready`)
  }
  await watchIdleRuns(store, engine)
}

async function watchIdleRuns(store: Store, engine: Engine): Promise<void> {
  const heap: number[] = []
  for (const usageDir of [undefined, join(directory, "usage")]) {
    await using runs = await openRuns({ store, engine, settings: { usageDir } })
    runs.startSupervisor()
    await pause(watchedMs / 2)
    const [before, began] = [process.cpuUsage(), performance.now()]
    await pause(watchedMs)
    const { user, system } = process.cpuUsage(before)
    const share = (user + system) / 10 / (performance.now() - began)
    heap.push(memoryOf(process.pid, "Rss"))
    print(`${usageDir ? "with" : "without"} stored usage: ${share.toFixed(2)} % of a core (needed ≤ 3, aim 1)`)
  }
  print(`memory: ${((heap[1] ?? 0) - (heap[0] ?? 0)).toFixed(0)} MiB more (needed ≤ 60)`)
}

async function measureDocker(): Promise<void> {
  await using rig = await startDockerEngine()
  const never = new AbortController().signal
  for (let n = 0; n < containers; n += 1)
    await rig.engine.start(specOf({ image: rig.image, command: ["sleep", "600"], memoryMiB: 16 }), () => {}, never)
  // Inspections show the processes of many containers a few at a time.
  while ((await rig.engine.stats()).filter(({ cpuSeconds }) => cpuSeconds !== null).length < containers) {
    await rig.engine.observe()
    await pause(100)
  }
  const samples = 200
  const before = process.cpuUsage()
  for (let n = 0; n < samples; n += 1) await rig.engine.stats()
  const { user, system } = process.cpuUsage(before)
  const each = (user + system) / samples / containers
  print(`Docker: ${each.toFixed(0)} µs for each container, ${(each / 100).toFixed(2)} % of a core for 1,000 every 10 s`)
}
