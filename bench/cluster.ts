// Thousands of runs on a cluster with simulated nodes: the rate of starts against that of the
// cluster's own scheduler, memory, processor time and requests to the API server of each role, lost
// nodes, the death of a supervisor, and ends.
//   eval "$(script/cluster up)"; script/cluster simulate 1000; script/bench cluster [RUNS] [STARTS]
import { execFile } from "node:child_process"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { eventually } from "../test/fixtures/eventually.ts"
import { openSimulatedInstallation, type Usage } from "./simulated/installation.ts"
import { openMachines } from "./simulated/machines.ts"
import { forAll, median } from "./tools.ts"

const runs = Number(process.argv[2] ?? 5_000)
const starts = Number(process.argv[3] ?? 1_000)
const together = 100
const lostNodes = 10
const idleMinutes = Number(process.argv[4] ?? 3)
const longMs = 600_000
const print = (line: string) => process.stdout.write(`${line}\n`)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const secondsSince = (at: number) => (performance.now() - at) / 1_000
const cluster = (...words: string[]) => promisify(execFile)(fileURLToPath(new URL("../script/cluster", import.meta.url)), words)

if (!process.env.CLUSTER_CONTAINERD) {
  print('not measured: a cluster is needed, by eval "$(script/cluster up)" and script/cluster simulate 1000')
  process.exit(0)
}
const { stdout: listed } = await promisify(execFile)("kubectl", ["get", "nodes", "--selector=type=simulated", "--output=name"])
const nodes = listed.split("\n").filter(Boolean).length
if (nodes === 0) throw new Error("script/cluster simulate 1000 adds the nodes")

await using machines = await openMachines(nodes)
await using quayside = await openSimulatedInstallation(machines.programPort)
const { installation, namespace, imageId } = quayside
const { admin } = installation
const projects: number[] = []
const live: number[] = []

print(`${nodes} simulated nodes, ${together} requests at a time`)
const schedulerRate = await measureScheduler()
const supervisor = await quayside.start("supervisor")
await quayside.start("gateway")
print(usedText(await quayside.usage()))
for (let from = 0; from < runs; from += starts) await measureStarts(Math.min(starts, runs - from), from === 0)
await measureIdle()
await measureTakeOver()
await measureLostNodes()
await measureEnds()

/** Pods that are there already wait for the scheduler alone. */
async function measureScheduler(): Promise<number> {
  const pod = (n: number) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `by-hand-${n}`, labels: { by: "hand" } },
    spec: {
      nodeSelector: { type: "simulated" },
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1_000, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          name: "main",
          image: "by-hand",
          resources: { requests: { cpu: "250m", memory: "64Mi" } },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  })
  const items = Array.from({ length: starts }, (_, n) => pod(n))
  await cluster("pause", "kube-scheduler")
  await namespace.kubectl(["create", "--filename", "-"], { apiVersion: "v1", kind: "List", items })
  const bound = ["get", "pods", "--selector", "by=hand", "--field-selector", "spec.nodeName!=", "--output", "name"]
  const beganAt = performance.now()
  await cluster("resume", "kube-scheduler")
  await eventually("all are bound", async () => (await namespace.kubectl(bound)).split("\n").length === starts, longMs)
  const rate = starts / secondsSince(beganAt)
  await namespace.kubectl(["delete", "pods", "--selector", "by=hand", "--wait=false"])
  await eventually("they are gone", async () => (await podCount()) === 0, longMs)
  print(`the scheduler's own rate: ${rate.toFixed(1)} pods a second`)
  return rate
}

async function measureStarts(count: number, isFirst: boolean): Promise<void> {
  const added: number[] = []
  for (let n = 0; n < count; n += 1) {
    const { ID } = await admin.createProject({ body: { ProjectName: `bench-${projects.length}`, Type: "http", ImageID: imageId } })
    projects.push(ID)
    added.push(ID)
  }
  const before = await quayside.usage()
  const beganAt = performance.now()
  const durations: number[] = []
  const failures = new Map<string, number>()
  await forAll(added, together, async (ProjectID) => {
    const startedAt = performance.now()
    const failed = (why: string) => void failures.set(why, (failures.get(why) ?? 0) + 1)
    try {
      const run = await admin.startRun({ body: { ProjectID, Memory: 64 } })
      if (run.State !== "ready") return failed(run.Reason?.code ?? run.State)
      live.push(run.ID)
      durations.push(secondsSince(startedAt))
    } catch (error) {
      failed(String(error))
    }
  })
  const seconds = secondsSince(beganAt)
  const rate = durations.length / seconds
  const after = await quayside.usage()
  const ratio = isFirst ? `, ${(rate / schedulerRate).toFixed(2)} of the scheduler's own (needed ≥ 0.8, aim 0.95)` : ""
  print(`${live.length} runs: ${rate.toFixed(1)} starts a second${ratio}; each took ${median(durations).toFixed(1)} s`)
  for (const [why, times] of failures) print(`  ${times} failed: ${why}`)
  print(`  ms of a core for each start: ${msText(before, after, durations.length)}; cores in use: ${coresText(before, after, seconds)}`)
  print(`  requests for each start: ${requestsText(before, after, durations.length)}`)
  const [lease] = await query("select name, token as count from leases where name = 'supervisor'")
  print(`  times that a process took over the supervision until now: ${lease?.count}`)
  print(`  ${usedText(after)}`)
}

async function measureIdle(): Promise<void> {
  const words = ["--output", "custom-columns=:metadata.uid,:spec.nodeName", "--no-headers"]
  const lines = (await namespace.kubectl(["get", "pods", ...words])).split("\n")
  machines.place(lines.map((line) => line.trim().split(/\s+/)).map(([uid = "", node = ""]) => ({ uid, node })))
  await pause(60_000)
  const before = await quayside.usage()
  const beganAt = performance.now()
  await pause(idleMinutes * 60_000)
  const after = await quayside.usage()
  print(`idle with ${live.length} runs, of a core: ${shares(before, after, secondsSince(beganAt))}`)
  print(`  requests for each run and minute: ${requestsText(before, after, live.length * idleMinutes)} (needed ≤ 0.2, aim 0)`)
  print(`  ${usedText(after)}`)
}

/** A start that is asked for in the moment of the death needs the other supervisor. */
async function measureTakeOver(): Promise<void> {
  await quayside.start("supervisor")
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "after", Type: "http", ImageID: imageId } })
  await supervisor.kill()
  const killedAt = performance.now()
  const run = await admin.startRun({ body: { ProjectID, Memory: 64 } })
  if (run.State === "ready") live.push(run.ID)
  print(`supervisor killed: ${secondsSince(killedAt).toFixed(1)} s until another one has finished a new start (${run.State})`)
  print(`  ready: ${await countOf("ready")} of ${live.length}; pods: ${await podCount()}`)
}

async function measureLostNodes(): Promise<void> {
  const names = Array.from({ length: lostNodes }, (_, n) => `simulated-${n}`)
  const where = ["get", "pods", "--output", "custom-columns=:spec.nodeName", "--no-headers"]
  const lost = (await namespace.kubectl(where)).split("\n").filter((name) => names.includes(name.trim())).length
  const left = live.length - lost
  const beganAt = performance.now()
  await namespace.kubectl(["delete", "nodes", ...names])
  await eventually("the cluster has given up their pods", async () => (await podCount()) <= left, longMs)
  const noticed = secondsSince(beganAt)
  await eventually("the runs have ended", async () => (await countOf("ready")) <= left, longMs)
  const late = secondsSince(beganAt) - noticed
  const reasons = await query(
    "select coalesce((reason::json)->>'code', '') as name, count(*) as count from runs where state = 'ended' group by 1",
  )
  print(
    `${lostNodes} nodes deleted with ${lost} runs: given up by the cluster after ${noticed.toFixed(1)} s, ended ${late.toFixed(1)} s later`,
  )
  print(`  reasons: ${reasons.map(({ name, count }) => `${name} ${count}`).join(", ")}; ready: ${await countOf("ready")} of ${left}`)
}

async function measureEnds(): Promise<void> {
  const count = await countOf("ready")
  const before = await quayside.usage()
  const beganAt = performance.now()
  await forAll(live, together, async (ID) => void (await admin.stopRun({ query: { ID } }).catch(() => {})))
  // Ended runs are deleted beyond the maximum per person.
  await eventually("all have ended", async () => (await liveCount()) === 0, longMs)
  const seconds = secondsSince(beganAt)
  const after = await quayside.usage()
  print(`${count} runs stopped: ${(count / seconds).toFixed(1)} ends a second; pods left: ${await podCount()}`)
  print(`  of a core: ${shares(before, after, seconds)}`)
  print(`  requests for each end: ${requestsText(before, after, count)}`)
  print(`  ${usedText(after)}`)
}

async function podCount(): Promise<number> {
  return (await namespace.kubectl(["get", "pods", "--output", "name"])).split("\n").filter(Boolean).length
}

async function countOf(state: string): Promise<number> {
  return Number(
    (await query("select state as name, count(*) as count from runs group by 1")).find(({ name }) => name === state)?.count ?? 0,
  )
}

async function liveCount(): Promise<number> {
  return Number((await query("select '' as name, count(*) as count from runs where state <> 'ended'"))[0]?.count)
}

async function query(text: string): Promise<{ name: string; count: string }[]> {
  const client = await installation.postgres.connect(new URL(installation.databaseUrl).pathname.slice(1))
  return (await client.query(text).finally(() => client.end())).rows
}

function shares(before: Usage, after: Usage, seconds: number): string {
  const share = (name: string, used: number) => `${name} ${(((used - (before.seconds.get(name) ?? 0)) / seconds) * 100).toFixed(1)} %`
  return [...after.seconds].map(([name, used]) => share(name, used)).join(", ")
}

function msText(before: Usage, after: Usage, count: number): string {
  const each = (name: string, used: number) => `${name} ${(((used - (before.seconds.get(name) ?? 0)) * 1_000) / count).toFixed(1)}`
  return [...after.seconds].map(([name, used]) => each(name, used)).join(", ")
}

function coresText(before: Usage, after: Usage, seconds: number): string {
  const used = (after.seconds.get("all") ?? 0) - (before.seconds.get("all") ?? 0)
  return `${(used / seconds).toFixed(2)} of ${availableParallelism()}`
}

function usedText({ mib, longestMs }: Usage): string {
  const stood = [...longestMs].map(([name, ms]) => `${name} ${ms}`).join(", ")
  return `MiB: ${[...mib].map(([name, used]) => `${name} ${used.toFixed(0)}`).join(", ")}; event loops stood still for at most ${stood} ms`
}

/** By kind, of those that are not rarer than one of a thousand. */
function requestsText(before: Usage, after: Usage, per: number): string {
  const kinds: string[] = []
  let total = 0
  for (const [role, sums] of after.requests)
    for (const [what, count] of Object.entries(sums)) {
      const each = (count - (before.requests.get(role)?.[what] ?? 0)) / per
      total += each
      if (each >= 0.001) kinds.push(`${role} ${what} ${each.toFixed(3)}`)
    }
  return `${total.toFixed(4)}${kinds.length > 0 ? ` (${kinds.join(", ")})` : ""}`
}
