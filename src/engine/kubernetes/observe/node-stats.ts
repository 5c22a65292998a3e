import type { V1Node, V1Pod } from "@kubernetes/client-node"
import { type Logger, Semaphore } from "#kit"
import type { ContainerStats, WritableLayer } from "../../engine.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { openStream } from "../client/open-stream.ts"
import { podIdentity, storedSpec } from "../pods/names.ts"
import { imageVolumePrefix } from "../pods/pod-manifest.ts"
import { stateOf } from "../pods/pod-state.ts"

const { Agent } = process.getBuiltinModule("node:https")

const kubeletPort = 10_250
/** So that a large cluster's answers do not arrive all at once. */
const maxConcurrentRequests = 50
const timeoutMs = 5_000
/** A node's answer describes all of its pods, with about 3 kB each. */
const maxAnswerBytes = 64 * 2 ** 20
/** The kubelet counts no oftener. */
const cacheMs = 5_000

interface Summary {
  pods?: PodSummary[]
}
interface PodSummary {
  podRef: { uid: string }
  cpu?: { usageCoreNanoSeconds?: number }
  memory?: { workingSetBytes?: number }
  network?: { interfaces?: { rxBytes?: number; txBytes?: number }[] }
  containers?: { rootfs?: { usedBytes?: number } }[]
  volume?: { name: string; usedBytes?: number }[]
  "ephemeral-storage"?: { usedBytes?: number }
}

interface NodeStatsOptions {
  client: ClusterClient
  nodes: () => Promise<readonly V1Node[]>
  /** Whether any certificate of a kubelet will do. */
  skipsTlsVerification: boolean
  logger: Logger
}

/**
 * The figures of pods, from the kubelets of the nodes on which they run: one request for a node,
 * however many runs it has. It needs the right to `nodes/stats`; without it, or if a kubelet cannot
 * be reached, the figures are unknown.
 */
export class NodeStats implements Disposable {
  readonly #client: ClusterClient
  readonly #nodes: () => Promise<readonly V1Node[]>
  readonly #log: Logger
  readonly #summaries = new Map<string, { at: number; summary: Promise<Map<string, PodSummary>> }>()
  readonly #skipsTlsVerification: boolean
  readonly #requests = new Semaphore(maxConcurrentRequests)
  /** Each kubelet is asked every few seconds, and a handshake costs more than its answer. */
  readonly #agent = new Agent({ keepAlive: true })
  #hasFailed = false

  constructor({ client, nodes, skipsTlsVerification, logger }: NodeStatsOptions) {
    this.#skipsTlsVerification = skipsTlsVerification
    this.#client = client
    this.#nodes = nodes
    this.#log = logger
  }

  async stats(pods: Iterable<V1Pod>): Promise<ContainerStats[]> {
    const found = await this.#describe(pods)
    return found.map(([key, summaries]) => {
      const total = (of: (each: PodSummary) => number | undefined) => sumOf(summaries, of)
      const traffic = (field: "rxBytes" | "txBytes") =>
        total(({ network }) => network?.interfaces?.reduce((sum, each) => sum + (each[field] ?? 0), 0))
      const nanoseconds = total(({ cpu }) => cpu?.usageCoreNanoSeconds)
      return {
        key,
        cpuSeconds: nanoseconds === null ? null : nanoseconds / 1e9,
        memory: total(({ memory }) => memory?.workingSetBytes),
        gpuMemory: null,
        gpuBusy: null,
        networkIn: traffic("rxBytes"),
        networkOut: traffic("txBytes"),
        oomKills: null,
      }
    })
  }

  async writableLayers(pods: Iterable<V1Pod>): Promise<Map<string, WritableLayer>> {
    const all = [...pods]
    const limits = new Map(all.map((pod) => [podIdentity(pod.metadata)?.key ?? "", diskLimitOf(pod)]))
    const layers = new Map<string, WritableLayer>()
    for (const [key, summaries] of await this.#describe(all)) {
      const bytes = sumOf(summaries, writtenBytes)
      if (bytes !== null) layers.set(key, { bytes, maxMiB: limits.get(key) ?? null })
    }
    return layers
  }

  /** The summaries of each run that runs, by its key. */
  async #describe(pods: Iterable<V1Pod>): Promise<[key: string, PodSummary[]][]> {
    const running = [...pods].filter((pod) => stateOf(pod) === "running")
    for (const [name, { at }] of this.#summaries) if (Date.now() - at > 10 * cacheMs) this.#summaries.delete(name)
    const byNode = Map.groupBy(running, (pod) => pod.spec?.nodeName ?? "")
    const addresses = new Map((await this.#nodes()).map((node) => [node.metadata?.name ?? "", addressOf(node)]))
    const found = new Map<string, PodSummary[]>()
    await Promise.all(
      [...byNode].map(async ([name, own]) => {
        const summaries = await this.#summary(name, addresses.get(name))
        for (const pod of own) {
          const key = podIdentity(pod.metadata)?.key
          const summary = summaries.get(pod.metadata?.uid ?? "")
          if (key !== undefined) found.set(key, [...(found.get(key) ?? []), ...(summary ? [summary] : [])])
        }
      }),
    )
    return [...found]
  }

  #summary(node: string, address: string | undefined): Promise<Map<string, PodSummary>> {
    const kept = this.#summaries.get(node)
    if (kept && Date.now() - kept.at < cacheMs) return kept.summary
    const summary = this.#requests
      .run(() => this.#request(address))
      .catch((err: unknown) => {
        if (!this.#hasFailed)
          this.#log.warn({ node, err }, "the usage of runs cannot be read from the kubelet: processor, memory and disk are unknown")
        this.#hasFailed = true
        return new Map<string, PodSummary>()
      })
    this.#summaries.set(node, { at: Date.now(), summary })
    return summary
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  async #request(address: string | undefined): Promise<Map<string, PodSummary>> {
    if (address === undefined) throw new Error("The node's address is unknown")
    const host = address.includes(":") ? `[${address}]` : address
    const url = new URL(`https://${host}:${kubeletPort}/stats/summary`)
    const stream = await openStream(this.#client, {
      url,
      timeoutMs,
      skipsTlsVerification: this.#skipsTlsVerification,
      agent: this.#agent,
      signal: AbortSignal.timeout(2 * timeoutMs),
    })
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of stream as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes > maxAnswerBytes) throw new Error("The kubelet's answer is too long")
      parts.push(part)
    }
    const { pods = [] } = JSON.parse(Buffer.concat(parts).toString()) as Summary
    return new Map(pods.map((pod) => [pod.podRef.uid, pod]))
  }
}

/** Null if one of them is unknown. */
function sumOf(summaries: readonly PodSummary[], of: (each: PodSummary) => number | undefined): number | null {
  const all = summaries.map(of)
  if (all.length === 0 || all.includes(undefined)) return null
  return all.reduce<number>((sum, each) => sum + (each ?? 0), 0)
}

/** The containers' own files, and those in the volumes of the image. */
function writtenBytes({ containers = [], volume = [] }: PodSummary): number {
  const used = [...containers.map(({ rootfs }) => rootfs?.usedBytes), ...volume.filter(isOfImage).map(({ usedBytes }) => usedBytes)]
  return used.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0)
}

function isOfImage({ name }: { name: string }): boolean {
  return name.startsWith(imageVolumePrefix)
}

function addressOf({ status }: V1Node): string | undefined {
  return status?.addresses?.find(({ type }) => type === "InternalIP")?.address
}

function diskLimitOf(pod: V1Pod): number | null {
  const limit = pod.spec?.containers[0]?.resources?.limits?.["ephemeral-storage"]
  return limit === undefined || !storedSpec(pod.metadata) ? null : Number(limit.replace(/Mi$/, ""))
}
