import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { cpus, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { ensureBusyboxImage } from "../../test/fixtures/docker/busybox.ts"
import { type ClusterNamespace, openClusterNamespace } from "../../test/fixtures/kubernetes/cluster-namespace.ts"
import { loadCopy } from "../../test/fixtures/kubernetes/loaded-image.ts"
import { createQuaysideAccount } from "../../test/fixtures/kubernetes/quayside-account.ts"
import { type Installation, openInstallation, type RoleProcess } from "../../test/processes/installation.ts"
import { family, memoryOf, parentOf, ticksOf } from "../tools.ts"

/** Programs of the cluster that are shown beside Quayside's. */
const clusterPrograms = ["kube-apiserver", "etcd", "kube-scheduler", "kube-controller-manager", "kwok"]

/** Seconds of a processor core and requests to the API server until now, and MiB. */
export interface Usage {
  /** The longest time until now in which an event loop stood still. */
  longestMs: Map<string, number>
  /** `all` is the whole machine. */
  seconds: Map<string, number>
  mib: Map<string, number>
  requests: Map<string, Record<string, number>>
}

export interface SimulatedInstallation extends AsyncDisposable {
  readonly installation: Installation
  readonly namespace: ClusterNamespace
  readonly imageId: number
  start(role: string): Promise<RoleProcess>
  usage(): Promise<Usage>
}

/** Processes of Quayside whose runs are on simulated nodes. Their programs answer on that port. */
export async function openSimulatedInstallation(programPort: number): Promise<SimulatedInstallation> {
  await using stack = new AsyncDisposableStack()
  const image = await loadCopy(await ensureBusyboxImage())
  const namespace = stack.use(await openClusterNamespace())
  const account = stack.use(await createQuaysideAccount(namespace))
  const counted = await mkdtemp(join(tmpdir(), "quayside-requests-"))
  stack.defer(() => rm(counted, { recursive: true }))
  const { clusters } = JSON.parse(await readFile(account.kubeconfig, "utf8"))
  const installation = stack.use(
    await openInstallation({
      KUBECONFIG: account.kubeconfig,
      QUAYSIDE_ENGINE: "kubernetes",
      QUAYSIDE_KUBERNETES_NAMESPACE: namespace.name,
      QUAYSIDE_KUBERNETES_VOLUME: "files",
      QUAYSIDE_KUBERNETES_NODE_SELECTOR: "type=simulated",
      QUAYSIDE_KUBERNETES_KUBELET_TLS: "off",
      QUAYSIDE_FILES_DIR: namespace.filesRoot,
      QUAYSIDE_LOG_LEVEL: "error",
      QUAYSIDE_ACCESS_LOG: "off",
      NODE_OPTIONS: `--import=${fileURLToPath(new URL("count-requests.ts", import.meta.url))}`,
      BENCH_REQUESTS_DIR: counted,
      BENCH_API_SERVER: clusters[0].cluster.server,
    }),
  )
  const roles = new Map<string, RoleProcess>()
  const start = async (role: string) => {
    const process = await installation.start(role)
    roles.set(role, process)
    return process
  }
  await start("api")
  const database = await databaseServerPid(installation)
  const body = { Name: "program", Image: image, Command: "sleep 1000", Port: String(programPort) }
  const { ID: imageId } = await installation.admin.createImage({ body })
  const owned = stack.move()
  return {
    ...{ installation, namespace, imageId, start },
    usage: () => usageOf({ roles, database }, counted),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The parent of a connection's own process. */
async function databaseServerPid({ postgres }: Installation): Promise<number> {
  const client = await postgres.connect()
  try {
    const { rows } = await client.query("select pg_backend_pid() as pid")
    return parentOf(rows[0].pid)
  } finally {
    await client.end()
  }
}

interface Measured {
  roles: ReadonlyMap<string, RoleProcess>
  database: number
}

async function usageOf({ roles, database }: Measured, counted: string): Promise<Usage> {
  const usage: Usage = { longestMs: new Map(), seconds: new Map(), mib: new Map(), requests: new Map() }
  const add = (name: string, pids: readonly number[]) => {
    usage.seconds.set(name, sum(pids, ticksOf) / 100)
    usage.mib.set(
      name,
      sum(pids, (pid) => memoryOf(pid, "Pss")),
    )
  }
  const files = new Set(await readdir(counted))
  for (const [role, { child }] of roles) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const pids = await family(child.pid as number)
    add(role, pids)
    const [file] = pids.filter((pid) => files.has(String(pid)))
    if (file === undefined) continue
    const { sums, longestMs } = JSON.parse(await readFile(join(counted, String(file)), "utf8"))
    usage.requests.set(role, sums)
    usage.longestMs.set(role, longestMs)
  }
  const state = dirname(dirname(process.env.KUBECONFIG ?? ""))
  for (const name of clusterPrograms) add(name, [Number(await readFile(join(state, `${name}.pid`), "utf8"))])
  add("PostgreSQL", await family(database))
  add("this benchmark", [process.pid])
  const times = cpus().map(({ times: { user, nice, sys, irq } }) => user + nice + sys + irq)
  usage.seconds.set("all", times.reduce((sum, ms) => sum + ms, 0) / 1_000)
  return usage
}

/** Of processes that have ended meanwhile, nothing is known. */
function sum(pids: readonly number[], read: (pid: number) => number): number {
  return pids.reduce((total, pid) => {
    try {
      return total + read(pid)
    } catch {
      return total
    }
  }, 0)
}
