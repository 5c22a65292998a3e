// Several processes on one PostgreSQL: the cost of a death of the supervisor in the middle of
// starts, against the same starts without one; sockets of a gateway while the API is restarted; and
// a gateway and a files process beside many runs, against ones that know of none.
// Usage: processes.ts [STARTS] [SOCKETS] [RUNS]
import { setTimeout as pause } from "node:timers/promises"
import { WebSocket } from "ws"
import { silentLogger, systemClock } from "#kit"
import { openStore } from "#store"
import { ensureBusyboxImage } from "../test/fixtures/docker/busybox.ts"
import { type Installation, openInstallation, type RoleProcess } from "../test/processes/installation.ts"
import { family, memoryOf, ticksOf } from "./tools.ts"

const starts = Number(process.argv[2] ?? 40)
const sockets = Number(process.argv[3] ?? 200)
const idleRuns = Number(process.argv[4] ?? 1_000)
const together = 4
const somebody = { passwordHash: null, email: "", comment: "", isAdmin: false, isDisabled: false, limits: {} as never }
const print = (line: string) => process.stdout.write(`${line}\n`)
const seconds = (ms: number) => (ms / 1_000).toFixed(1)

await measureDeath()
await measureSockets()
await measureIdle("gateway")
await measureIdle("files")

async function open() {
  const installation = await openInstallation({
    QUAYSIDE_LOG_LEVEL: "error",
    QUAYSIDE_ACCESS_LOG: "off",
    QUAYSIDE_CPU_OVERCOMMIT: "1000",
    QUAYSIDE_MEMORY_OVERCOMMIT: "100",
  })
  const api = await installation.start("api")
  return { installation, api }
}

/**
 * Starts runs, a few at once. `onStarted` is called with the number of those that are ready, and
 * with which of the few this one was.
 */
async function startRuns({ admin }: Installation, count: number, onStarted: (ready: number, worker: number) => void): Promise<number> {
  const Command = JSON.stringify(["sh", "-c", "exec httpd -f -p 8080 -h /www"])
  const { ID: ImageID } = await admin.createImage({ body: { Name: "tiny", Image: await ensureBusyboxImage(), Command, Port: "8080" } })
  const names = Array.from({ length: count }, (_, n) => `bench-${n}`)
  let ready = 0
  const worker = async (_: unknown, index: number) => {
    for (let name = names.shift(); name !== undefined; name = names.shift()) {
      const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: name, Type: "http", ImageID } })
      const run = await admin.startRun({ body: { ProjectID, Memory: 64 } }).catch(() => undefined)
      if (run?.State !== "ready") continue
      ready += 1
      onStarted(ready, index)
    }
  }
  await Promise.all(Array.from({ length: together }).map(worker))
  return ready
}

async function measureDeath(): Promise<void> {
  const durations: number[] = []
  for (const dies of [false, true]) {
    const { installation } = await open()
    await using _ = installation
    const first = await installation.start("supervisor")
    const second = await installation.start("supervisor")
    let [killedAt, movesAt] = [0, 0]
    const moved = new Set<number>()
    const beganAt = performance.now()
    const ready = await startRuns(installation, starts, (count, worker) => {
      if (dies && killedAt === 0 && count >= starts / 2) {
        killedAt = performance.now()
        void first.kill()
      } else if (killedAt > 0 && moved.size < together) {
        moved.add(worker)
        movesAt = performance.now()
      }
    })
    durations.push(performance.now() - beganAt)
    const containers = await installation.containers()
    if (dies)
      print(
        `supervisor killed after ${starts / 2} of ${starts} starts: ${starts - ready} lost, ${containers.length - ready} doubled, ${seconds(movesAt - killedAt)} s until each start has moved on`,
      )
    await stopAll(installation)
    await second.kill("SIGTERM")
  }
  const [without = 1, died = 0] = durations
  print(`the same starts: ${seconds(without)} s without a death, ${seconds(died)} s with one: ${(died / without).toFixed(2)}`)
}

async function stopAll({ admin }: Installation): Promise<void> {
  const { data } = await admin.listRuns({ query: { pageSize: 200 } })
  await Promise.all(data.map(({ ID }) => admin.stopRun({ query: { ID } })))
}

async function measureSockets(): Promise<void> {
  const { installation, api } = await open()
  await using _ = installation
  await Promise.all([installation.start("supervisor"), installation.start("gateway")])
  const { admin } = installation
  const { ID: ImageID } = await admin.createImage({ body: { Name: "app", Image: "quayside/python-app", Port: "8000" } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "app", Type: "http", ImageID } })
  const run = await admin.startRun({ body: { ProjectID, Memory: 512 } })
  const { Token } = await admin.createToken({ body: { Name: "bench" } })
  const url = `${installation.appsUrl.replace("http", "ws")}/run/${run.ID}/ws`
  let [dropped, echoed] = [0, 0]
  const opened = await Promise.all(
    Array.from({ length: sockets }, async () => {
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${Token}` } })
      await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
      socket.on("close", () => {
        dropped += 1
      })
      socket.on("message", () => {
        echoed += 1
      })
      return socket
    }),
  )
  await api.kill()
  await installation.start("api")
  for (const socket of opened) if (socket.readyState === socket.OPEN) socket.send("still here")
  await pause(3_000)
  print(`API killed and started again under ${sockets} sockets of a gateway: ${dropped} dropped, ${echoed} answer`)
  await stopAll(installation)
}

async function measureIdle(role: string): Promise<void> {
  const figures: IdleFigures[] = []
  for (const count of [0, idleRuns]) {
    const { installation, api } = await open()
    await using _ = installation
    await insertReadyRuns(installation, count)
    await api.kill("SIGTERM")
    figures.push(await idleFiguresOf(await installation.start(role)))
  }
  const [none, many] = figures
  if (none && many)
    print(
      `${role} idle with ${idleRuns} runs: ${many.mib.toFixed(0)} MiB (${none.mib.toFixed(0)} without runs, ${(many.mib / none.mib).toFixed(2)}; where nothing else runs Node ${many.aloneMiB.toFixed(0)}), ${(many.share * 100).toFixed(2)} % of a core`,
    )
}

/** Rows without containers: no process supervises them. */
async function insertReadyRuns({ admin, databaseUrl }: Installation, count: number): Promise<void> {
  const { ID: imageId } = await admin.createImage({ body: { Name: "none", Image: "quayside/python-app" } })
  const { ID: projectId } = await admin.createProject({ body: { ProjectName: "none", Type: "http", ImageID: imageId } })
  await using store = await openStore({ url: databaseUrl, logger: silentLogger, clock: systemClock })
  const template = {
    ...{ projectId, state: "ready" as const, wanted: "run" as const, reason: null, progress: null, nodes: 1, cpus: 1, memoryMiB: 64 },
    ...{
      gpus: 0,
      gpuMemoryMiB: 0,
      endTime: null,
      expiresAt: null,
      idleEndsAt: null,
      nodeNames: [],
      gpuDevices: [],
      imageDigest: "",
      registryDigest: "",
    },
    ...{ startTime: 1, readyTime: 1, lastActivity: 1 },
  }
  const spec = { type: "http" as const, image: "x", command: null, env: {}, port: 8000, workDir: "", home: "", mounts: [], secret: "s" }
  for (let n = 0; n < count; n += 1) {
    const key = n.toString(16).padStart(32, "0")
    await store.change(async (tx) => {
      const person = await tx.users.insert({ ...somebody, userName: `person${n}` })
      await tx.runs.insert({ ...template, key, userId: person.id, spec })
    })
  }
}

interface IdleFigures {
  /** The proportional part of memory that is shared with other programs, and all of its own. */
  mib: number
  /** As if no other program had Node's own pages in memory. */
  aloneMiB: number
  /** Of a processor core. */
  share: number
}

/** After half a minute in which nobody asks for anything, of the process and its children. */
async function idleFiguresOf({ child }: RoleProcess): Promise<IdleFigures> {
  await pause(10_000)
  const pids = await family(child.pid as number)
  const sum = (of: (pid: number) => number) => pids.reduce((total, pid) => total + of(pid), 0)
  const before = sum(ticksOf)
  await pause(30_000)
  const own = sum((pid) => memoryOf(pid, "Pss_Anon"))
  return {
    mib: sum((pid) => memoryOf(pid, "Pss")),
    aloneMiB: own + Math.max(...pids.map((pid) => memoryOf(pid, "Rss") - memoryOf(pid, "Anonymous"))),
    share: (sum(ticksOf) - before) / 100 / 30,
  }
}
