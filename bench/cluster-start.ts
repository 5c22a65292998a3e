// Compares the time from POST /running_project to `ready` on a cluster with that of the same pod,
// created by `kubectl apply`, awaited by `kubectl wait` until it has an address, and probed in the
// same way. The image is on the node.
//   eval "$(script/cluster up)"; script/bench cluster-start [REPEATS]
import { randomBytes } from "node:crypto"
import { basicAuth, createClient } from "#client"
import { ensureBusyboxImage } from "../test/fixtures/docker/busybox.ts"
import { openClusterNamespace } from "../test/fixtures/kubernetes/cluster-namespace.ts"
import { loadCopy } from "../test/fixtures/kubernetes/loaded-image.ts"
import { createQuaysideAccount } from "../test/fixtures/kubernetes/quayside-account.ts"
import { startServerProcess } from "../test/server-process.ts"
import { answers, median, spread } from "./tools.ts"

const repeats = Number(process.argv[2] ?? 11)
const print = (line: string) => process.stdout.write(`${line}\n`)

if (!process.env.CLUSTER_CONTAINERD) {
  print('not measured: a cluster is needed, by eval "$(script/cluster up)"')
  process.exit(0)
}
const image = await loadCopy(await ensureBusyboxImage())
await using namespace = await openClusterNamespace()
await using account = await createQuaysideAccount(namespace)
await using server = await startServerProcess({
  KUBECONFIG: account.kubeconfig,
  QUAYSIDE_ENGINE: "kubernetes",
  QUAYSIDE_KUBERNETES_NAMESPACE: namespace.name,
  QUAYSIDE_KUBERNETES_VOLUME: "files",
  QUAYSIDE_FILES_DIR: namespace.filesRoot,
  QUAYSIDE_LOG_LEVEL: "error",
})
const client = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const body = { Name: "page", Image: image, Command: "httpd -f -p 8000 -h /www", Port: "8000" }
const { ID: ImageID } = await client.createImage({ body })
const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "bench", Type: "http", ImageID } })

async function byQuayside(): Promise<{ durationMs: number; pod: PodObject }> {
  const beganAt = performance.now()
  const run = await client.startRun({ body: { ProjectID, Memory: 64 } })
  const durationMs = performance.now() - beganAt
  if (run.State !== "ready") throw new Error(JSON.stringify(run.Reason))
  const { items } = JSON.parse(await namespace.kubectl(["get", "pods", "--output", "json"]))
  const [pod] = (items as PodObject[]).filter(({ metadata }) => metadata.name.startsWith("quayside-"))
  const secret = JSON.parse(
    await namespace.kubectl(["get", "secret", pod?.spec.containers[0]?.envFrom[0]?.secretRef.name ?? "", "--output", "json"]),
  )
  await client.stopRun({ query: { ID: run.ID } })
  if (!pod) throw new Error("The run has no pod")
  await namespace.kubectl(["apply", "--filename", "-"], {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secret.metadata.name },
    data: secret.data,
  })
  return { durationMs, pod }
}

interface PodObject {
  metadata: { name: string; annotations: Record<string, string> }
  spec: { nodeName?: string; schedulingGates?: unknown; containers: { envFrom: { secretRef: { name: string } }[] }[] }
}

/** Without Quayside's labels, so that it is no run, and its network is open. */
async function byHand({ metadata, spec: { nodeName: _, schedulingGates: __, ...spec } }: PodObject): Promise<number> {
  const name = `by-hand-${randomBytes(4).toString("hex")}`
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name, annotations: metadata.annotations }, spec }
  const beganAt = performance.now()
  await namespace.kubectl(["apply", "--filename", "-"], pod)
  await namespace.kubectl(["wait", "--for", "jsonpath={.status.podIP}", `pod/${name}`, "--timeout=60s"])
  const address = await namespace.kubectl(["get", "pod", name, "--output", "jsonpath={.status.podIP}"])
  await answers(`http://${address}:8000/`)
  const durationMs = performance.now() - beganAt
  await namespace.kubectl(["delete", "pod", name, "--grace-period=1", "--wait=true"])
  return durationMs
}

const quayside: number[] = []
const hand: number[] = []
for (let n = 0; n <= repeats; n += 1) {
  const { durationMs, pod } = await byQuayside()
  const byHandMs = await byHand(pod)
  // The first ones load what the others find in memory.
  if (n === 0) continue
  quayside.push(durationMs)
  hand.push(byHandMs)
}
print(`POST to ready: ${spread(quayside)} ms; kubectl apply to the first answer: ${spread(hand)} ms`)
print(`difference of the medians: ${((median(quayside) - median(hand)) / 1_000).toFixed(2)} s (needed ≤ 0.5, aim 0.2)`)
