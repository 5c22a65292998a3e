// Processor time of the supervisor for 1,000 idle runs on the fake engine, without and with their
// usage stored; its memory against that of a supervisor without runs, in processes of their own;
// and the processor time of one sample of Docker containers.
// Usage: figures.ts [RUNS] [CONTAINERS]
import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { unlimited } from "#contract"
import { createEngine, openFakeDaemon } from "#engine"
import { silentLogger, systemClock } from "#kit"
import { openRuns, type StartRequest } from "#runs"
import { openStore, type Store } from "#store"
import { startDockerEngine } from "../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../test/fixtures/run-spec.ts"
import { memoryOf, spread } from "./tools.ts"

const measuredDirectory = process.argv[2] === "memory" ? process.argv[3] : undefined
const count = Number(process.argv[2] ?? 1_000)
const containers = Number(process.argv[3] ?? 20)
const watchedMs = 60_000
/** Observations, samples and probes of activity have happened by then. */
const settledMs = 30_000
const memorySamples = 5
const print = (line: string) => process.stdout.write(`${line}\n`)

// An engine's own handles do not keep the process alive.
const alive = setInterval(() => {}, 1_000)
if (measuredDirectory !== undefined) await printMemory(measuredDirectory)
else await measure()
clearInterval(alive)

async function measure(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "quayside-bench-"))
  try {
    const [empty, full] = [join(directory, "empty"), join(directory, "full")]
    await startRuns(empty, 0)
    await startRuns(full, count)
    await measureTime(full)
    await measureMemory(empty, full)
    await measureDocker()
  } finally {
    await rm(directory, { recursive: true })
  }
}

/** The requests of as many people, each for a run. */
async function populate(store: Store, people: number): Promise<StartRequest[]> {
  const person = { passwordHash: null, email: "", comment: "", isAdmin: false, isDisabled: false, limits: unlimited }
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
    for (let n = 0; n < people; n += 1) {
      const { id, userName } = await tx.users.insert({ ...person, userName: `person${n}` })
      requests.push({ userId: id, userName, projectId, plan, resources })
    }
    return requests
  })
}

/** The store and the engine of a directory. */
async function openServices(directory: string) {
  await using stack = new AsyncDisposableStack()
  await mkdir(directory, { recursive: true })
  const url = `sqlite:${join(directory, "quayside.db")}`
  const store = stack.use(await openStore({ url, logger: silentLogger, clock: systemClock }))
  const daemon = stack.use(await openFakeDaemon({ clock: systemClock, stateDir: join(directory, "engine") }))
  const capacity = { cpus: 10_000, memoryMiB: 1_000_000, mockGpus: 0 }
  const engine = await createEngine({ kind: "fake", daemon, instance: "bench", ...capacity })
  const owned = stack.move()
  return { store, engine, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function startRuns(directory: string, amount: number): Promise<void> {
  await using services = await openServices(directory)
  const requests = await populate(services.store, amount)
  await using runs = await openRuns(services)
  runs.startSupervisor()
  while (requests.length > 0) {
    const some = await Promise.all(requests.splice(0, 50).map((request) => runs.start(request)))
    for (const { id } of some) await runs.waitUntilSettled(id)
  }
  const ready = runs.targets().filter(({ state }) => state === "ready").length
  if (ready < amount) throw new Error(`${ready} of ${amount} runs are ready`)
}

async function measureTime(directory: string): Promise<void> {
  await using services = await openServices(directory)
  for (const usageDir of [undefined, join(directory, "usage")]) {
    await using runs = await openRuns({ ...services, settings: { usageDir } })
    runs.startSupervisor()
    await pause(settledMs)
    const [before, began] = [process.cpuUsage(), performance.now()]
    await pause(watchedMs)
    const { user, system } = process.cpuUsage(before)
    const share = (user + system) / 10 / (performance.now() - began)
    print(`${usageDir ? "with" : "without"} stored usage: ${share.toFixed(2)} % of a core (needed ≤ 3, aim 1)`)
  }
}

/** Memory in MiB, after garbage collection, of a process that found the runs of a directory. */
async function printMemory(directory: string): Promise<void> {
  await using services = await openServices(directory)
  await using runs = await openRuns({ ...services, settings: { usageDir: join(directory, "usage") } })
  runs.startSupervisor()
  await pause(settledMs)
  for (let n = 0; n < 5; n += 1) {
    await pause(20)
    global.gc?.()
  }
  const { heapUsed, external } = process.memoryUsage()
  const ready = runs.targets().filter(({ state }) => state === "ready").length
  print(JSON.stringify({ ready, resident: memoryOf(process.pid, "Rss"), used: (heapUsed + external) / 2 ** 20 }))
}

/** The fake engine's own memory counts too: it is part of the process. */
async function measureMemory(empty: string, full: string): Promise<void> {
  const [resident, used]: [number[], number[]] = [[], []]
  for (let n = 0; n < memorySamples; n += 1) {
    const [none, all] = await Promise.all([memoryOfCopy(empty), memoryOfCopy(full)])
    if (none.ready !== 0 || all.ready !== count) throw new Error(`${none.ready} and ${all.ready} runs are ready`)
    resident.push(all.resident - none.resident)
    used.push(all.used - none.used)
  }
  print(`memory for ${count} runs: ${spread(resident)} MiB more (needed ≤ 60), of which ${spread(used)} in use`)
}

async function memoryOfCopy(directory: string): Promise<{ ready: number; resident: number; used: number }> {
  const copy = `${directory}-copy`
  await cp(directory, copy, { recursive: true })
  const { stdout } = await promisify(execFile)(process.execPath, ["--expose-gc", import.meta.filename, "memory", copy])
  await rm(copy, { recursive: true })
  return JSON.parse(stdout)
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
