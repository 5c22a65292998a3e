import assert from "node:assert/strict"
import { test } from "node:test"
import type { CoreV1Api } from "@kubernetes/client-node"
import type { RunSpec } from "../../engine.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { countFittingPods } from "./fitting-pods.ts"

/** A client of a cluster with so many pods of one processor on the node `a`. */
function clusterOf(pods: number) {
  const asked: (string | undefined)[] = []
  const listPodForAllNamespaces = async ({ limit = 0, _continue }: { limit?: number; _continue?: string }) => {
    asked.push(_continue)
    const from = Number(_continue ?? 0)
    const container = { name: "main", resources: { requests: { cpu: "1", memory: "1Mi" } } }
    const items = Array.from({ length: Math.min(limit, pods - from) }, () => ({ spec: { nodeName: "a", containers: [container] } }))
    return { items, metadata: from + limit < pods ? { _continue: String(from + limit) } : {} }
  }
  const core = async (_what: string, send: (api: CoreV1Api, settings: object) => Promise<unknown>) =>
    send({ listPodForAllNamespaces } as unknown as CoreV1Api, {})
  return { client: { core } as unknown as ClusterClient, asked }
}

const spec = { gpuRequest: undefined } as unknown as RunSpec
const options = {
  spec,
  request: { cpus: 1, memoryMiB: 1 },
  nodes: [{ name: "a", cpus: 1_300, memoryMiB: 10_000, gpus: [] }],
  gpuResource: "x",
}

test("starts that wait for room share one list of the cluster's pods, page by page", async () => {
  const { client, asked } = clusterOf(1_200)
  const { signal } = new AbortController()
  const counts = await Promise.all(Array.from({ length: 50 }, () => countFittingPods(client, options, signal)))
  assert.deepEqual([new Set(counts), asked], [new Set([100]), [undefined, "500", "1000"]])
})

test("a start that ends while it counts room ends no other one's count", async () => {
  const { client } = clusterOf(10)
  const ended = new AbortController()
  const [first, second] = [countFittingPods(client, options, ended.signal), countFittingPods(client, options, new AbortController().signal)]
  ended.abort(new Error("ended"))
  await assert.rejects(first, /ended/)
  assert.equal(await second, 1_290)
})
