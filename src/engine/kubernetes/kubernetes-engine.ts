import type { Server } from "node:net"
import type { V1Node, V1Pod } from "@kubernetes/client-node"
import { deadline, type Logger, silentLogger } from "#kit"
import { parseListeningPorts } from "../containers/listening-ports.ts"
import {
  type ContainerLogLine,
  type ContainerStats,
  type Engine,
  EngineError,
  type ImageInfo,
  type ImagePolicy,
  type ImageRemoval,
  type ListeningPort,
  type LogOptions,
  type NodeCapacity,
  type ObservedRun,
  type PullOptions,
  type RecoveredSpec,
  type ResolveSpec,
  type RunAddress,
  type RunSpec,
  type StartResult,
  type StartStep,
  type StoredImage,
  type WritableLayer,
} from "../engine.ts"
import type { ExecProcess, ExecRequest } from "../exec.ts"
import { KeyedLock } from "../keyed-lock.ts"
import { ClusterClient, undefinedIfMissing } from "./client/cluster-client.ts"
import { Reflector } from "./client/reflector.ts"
import { startExec } from "./exec/kubernetes-exec.ts"
import { readOutput } from "./exec/read-output.ts"
import { ClusterImages } from "./images/cluster-images.ts"
import type { KubernetesOptions } from "./kubernetes-options.ts"
import { MountLocks } from "./mounts/mount-locks.ts"
import { applyPolicies } from "./network/network-policies.ts"
import { mergeRankLogs } from "./observe/merge-rank-logs.ts"
import { nodeCapacity } from "./observe/node-capacity.ts"
import { NodeStats } from "./observe/node-stats.ts"
import { readPodLogs } from "./observe/read-logs.ts"
import { instanceSelector, podIdentity, runName, storedSpec } from "./pods/names.ts"
import { PodEventFeed } from "./pods/pod-events.ts"
import { variablesOfSecret } from "./pods/pod-manifest.ts"
import { ObservedRunCache, observedRun, stateOf, wasDisrupted } from "./pods/pod-state.ts"
import { RunStarter, sortByRank } from "./pods/run-starter.ts"

/** How long the cluster may take to delete a pod beyond its grace. */
const deleteMs = 60_000
/** The kernel's tables of sockets, which the image's own `cat` prints. */
const maxPortsBytes = 2 ** 20
const portsMs = 5_000

/**
 * Creates an engine on a Kubernetes cluster, which need not be reachable yet. Rejects if there is
 * no kubeconfig.
 */
export async function createKubernetesEngine(options: KubernetesOptions): Promise<Engine> {
  if (options.uid === 0) throw new TypeError("Runs must not use user ID 0, which is root")
  return new KubernetesEngine(options, await ClusterClient.create(options))
}

class KubernetesEngine implements Engine {
  readonly name = "kubernetes"
  readonly placement = "engine"
  readonly #options: KubernetesOptions
  readonly #log: Logger
  readonly #client: ClusterClient
  readonly #pods: Reflector<V1Pod>
  readonly #images: ClusterImages
  readonly #starter: RunStarter
  readonly #stats: NodeStats
  readonly #lock = new KeyedLock()
  readonly #nodes: Reflector<V1Node>
  readonly #events: PodEventFeed
  readonly #observed = new ObservedRunCache()
  /** Pods that the cluster ended and deleted, by the key of their run: nothing else shows why. */
  readonly #disrupted = new Map<string, V1Pod[]>()

  constructor(options: KubernetesOptions, client: ClusterClient) {
    const { instance, uid, gid = uid, filesRoot, clock, logger = silentLogger } = options
    this.#options = options
    this.#log = logger
    this.#client = client
    const { namespace } = client
    const labelSelector = instanceSelector(instance)
    this.#pods = new Reflector<V1Pod>({
      client,
      path: `/api/v1/namespaces/${namespace}/pods`,
      labelSelector,
      list: (page, signal) =>
        client.core("list the pods of runs", (core, settings) => core.listNamespacedPod({ namespace, labelSelector, ...page }, settings), {
          signal,
        }),
      groupOf: ({ metadata }) => podIdentity(metadata)?.key,
      isSelected: (pod) => stateOf(pod) === "created",
      onDeleted: (pod) => this.#keepIfDisrupted(pod),
      clock,
    })
    this.#nodes = new Reflector<V1Node>({
      client,
      path: "/api/v1/nodes",
      list: (page, signal) => client.core("list the nodes", (core, settings) => core.listNode(page, settings), { signal }),
      clock,
    })
    const nodes = (signal?: AbortSignal) => this.#listNodes(signal)
    const { registries, maxImageBytes: maxBytes, pods: { nodeSelector } = {} } = options
    this.#images = new ClusterImages({ nodes, registries, maxBytes, nodeSelector })
    this.#stats = new NodeStats({ client, nodes, skipsTlsVerification: options.kubeletTls === "off", logger })
    this.#events = new PodEventFeed(client, clock)
    this.#starter = new RunStarter({
      client,
      pods: this.#pods,
      events: this.#events,
      images: this.#images,
      locks: new MountLocks({ filesRoot, uid, gid }),
      context: { options, uid, gid },
      capacity: (signal, architecture) => this.#capacity(signal, architecture),
      remove: (key, { graceMs, signal }) => this.#remove(key, graceMs, signal),
      clock,
      logger,
    })
  }

  async prepare(): Promise<void> {
    await this.#checkVolume()
    await applyPolicies(this.#client, this.#options)
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#pods.items(signal)
  }

  async check(signal?: AbortSignal): Promise<void> {
    await this.ping(signal)
    await this.#checkVolume(signal)
  }

  async #checkVolume(signal?: AbortSignal): Promise<void> {
    const { namespace } = this.#client
    const { volume } = this.#options
    const found = await undefinedIfMissing(
      this.#client.core(
        "read the claim of the files' volume",
        (core, settings) => core.readNamespacedPersistentVolumeClaim({ namespace, name: volume }, settings),
        { signal },
      ),
    )
    if (!found) throw new EngineError("engine_error", `The namespace ${namespace} has no volume claim ${volume}, or does not exist itself`)
    const modes = found.spec?.accessModes ?? []
    if (!modes.includes("ReadWriteMany"))
      throw new EngineError(
        "engine_error",
        `The volume claim ${volume} has the access mode ${modes.join(", ")}; runs on several nodes need ReadWriteMany`,
      )
    if (found.status?.phase === "Lost") throw new EngineError("engine_error", `The volume of the claim ${volume} is lost`)
  }

  capacity(signal?: AbortSignal): Promise<NodeCapacity[]> {
    return this.#capacity(signal)
  }

  /** Of the nodes with that kind of processor; undefined: of all. */
  async #capacity(signal?: AbortSignal, architecture?: string): Promise<NodeCapacity[]> {
    const nodes = await this.#listNodes(signal)
    const usable = architecture === undefined ? nodes : nodes.filter(({ status }) => status?.nodeInfo?.architecture === architecture)
    return usable.flatMap((node) => nodeCapacity(node, this.#options))
  }

  async #listNodes(signal?: AbortSignal): Promise<V1Node[]> {
    return [...(await this.#nodes.items(signal)).values()]
  }

  async image(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<ImageInfo | undefined> {
    try {
      return (await this.#images.find(reference, policy, signal)).info
    } catch (error) {
      if (error instanceof EngineError && error.code === "image_not_found") return undefined
      throw error
    }
  }

  /** The nodes fetch images when a run needs them; this checks that they can. */
  async pull(reference: string, { policy, report, signal }: PullOptions): Promise<ImageInfo> {
    report(null)
    const { info, host } = await this.#images.find(reference, policy, signal)
    if (host !== undefined) return info
    throw new EngineError("image_unavailable", `${reference} was loaded onto the nodes, so a pull does not replace it`)
  }

  /** The cluster keeps and removes the images of its nodes by itself. */
  async images(): Promise<StoredImage[]> {
    return []
  }

  async removeImage(): Promise<ImageRemoval> {
    return "missing"
  }

  start(spec: RunSpec, report: (step: StartStep) => void, signal: AbortSignal, resolveSpec?: ResolveSpec): Promise<StartResult> {
    return this.#lock.runAbortable(spec.key, signal, (combined) => {
      this.#disrupted.delete(spec.key)
      return this.#starter.start({ spec, report, resolveSpec }, combined)
    })
  }

  async observe(signal?: AbortSignal): Promise<ObservedRun[]> {
    await this.#pods.items(signal)
    if (this.#disrupted.size === 0) return this.#pods.groups.flatMap((pods) => this.#observed.get(pods) ?? [])
    const groups = this.#pods.groups.map((pods) => [...pods, ...(this.#disrupted.get(podIdentity(pods[0]?.metadata)?.key ?? "") ?? [])])
    const gone = [...this.#disrupted].flatMap(([key, pods]) => (this.#pods.group(key).length === 0 ? [pods] : []))
    return [...groups, ...gone].flatMap((pods) => this.#observed.get(pods) ?? [])
  }

  #keepIfDisrupted(pod: V1Pod): void {
    const key = podIdentity(pod.metadata)?.key
    if (key !== undefined && wasDisrupted(pod)) this.#disrupted.set(key, [...(this.#disrupted.get(key) ?? []), pod])
  }

  async watch(changed: () => void, signal: AbortSignal): Promise<void> {
    const stop = this.#pods.onChange(changed)
    this.#pods.items(signal).then(changed, () => {})
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve()
      signal.addEventListener("abort", () => resolve(), { once: true })
    })
    stop()
  }

  /** A run's pods in the order of their ranks. */
  async #podsOf(key: string, signal?: AbortSignal): Promise<V1Pod[]> {
    await this.#pods.items(signal)
    return sortByRank(this.#pods.group(key))
  }

  stop(key: string, { graceMs = 10_000, signal }: { graceMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    return this.#lock.abortAndRun(key, signal, () => this.#remove(key, graceMs, signal))
  }

  /**
   * A grace of 0 would delete the object while its program still runs: the kubelet confirms the end
   * from one second on.
   */
  async #remove(key: string, graceMs: number, signal: AbortSignal | undefined): Promise<void> {
    const pods = await this.#podsOf(key, signal)
    if (pods.length > 0) await this.#removePods(key, pods, { graceMs, signal })
    this.#disrupted.delete(key)
  }

  async #removePods(
    key: string,
    pods: readonly V1Pod[],
    { graceMs, signal }: { graceMs: number; signal: AbortSignal | undefined },
  ): Promise<void> {
    const gracePeriodSeconds = Math.max(1, Math.ceil(graceMs / 1_000))
    using late = deadline(graceMs + deleteMs, "Deleting the pods of a run", signal)
    await Promise.all(pods.map((pod) => this.#deletePod(pod, gracePeriodSeconds, late)))
    await this.#pods
      .until(key, (left) => (left.length === 0 ? true : undefined), late)
      .catch((error: unknown) => {
        signal?.throwIfAborted()
        if (!late.aborted) throw error
        const nodes = [...new Set(pods.flatMap((pod) => pod.spec?.nodeName ?? []))].join(", ")
        throw new EngineError("engine_unreachable", `The node ${nodes} does not confirm that the run has ended`, { cause: error })
      })
  }

  async #deletePod({ metadata }: V1Pod, gracePeriodSeconds: number, signal: AbortSignal): Promise<void> {
    const { name = "", uid } = metadata ?? {}
    const body = { gracePeriodSeconds, preconditions: { ...(uid !== undefined && { uid }) } }
    const { namespace } = this.#client
    await undefinedIfMissing(
      this.#client.core("delete the pods of runs", (core, settings) => core.deleteNamespacedPod({ namespace, name, body }, settings), {
        signal,
        onlyMetadata: true,
        turn: { kind: "remove", owner: storedSpec(metadata)?.user ?? "" },
      }),
    )
  }

  async *logs(key: string, options: LogOptions = {}): AsyncIterable<ContainerLogLine> {
    if (options.signal?.aborted) return
    const pods = await this.#podsOf(key)
    const chosen = options.rank === undefined ? pods : pods.filter(({ metadata }) => podIdentity(metadata)?.rank === options.rank)
    const read = (pod: V1Pod) => readPodLogs(this.#client, pod.metadata?.name ?? "", options)
    if (pods.length === 1) return yield* chosen.map(read)[0] ?? []
    yield* mergeRankLogs(
      chosen.map((pod) => ({ rank: podIdentity(pod.metadata)?.rank ?? 0, lines: read(pod) })),
      options,
    )
  }

  async stats(): Promise<ContainerStats[]> {
    return this.#stats.stats(this.#pods.known.values())
  }

  async writableLayers(signal?: AbortSignal): Promise<ReadonlyMap<string, WritableLayer>> {
    return this.#stats.writableLayers((await this.#pods.items(signal)).values())
  }

  /** The cluster shows no deleted files; the volume's own quota counts them. */
  async deletedFiles(): Promise<ReadonlyMap<string, number>> {
    return new Map()
  }

  /** Each node has a disk of its own, which its kubelet guards. */
  async freeDisk(): Promise<number | null> {
    return null
  }

  async recoverSpec(key: string, signal?: AbortSignal): Promise<RecoveredSpec | undefined> {
    const [pod] = await this.#podsOf(key, signal)
    const stored = pod && storedSpec(pod.metadata)
    if (!stored) return undefined
    const { namespace } = this.#client
    const secret = await undefinedIfMissing(
      this.#client.core(
        "read the secrets of runs",
        (core, settings) => core.readNamespacedSecret({ namespace, name: runName(key) }, settings),
        { signal },
      ),
    )
    return { ...stored, env: secret ? variablesOfSecret(secret) : {} }
  }

  async address(key: string, port: number, signal?: AbortSignal): Promise<RunAddress | undefined> {
    const pods = await this.#podsOf(key, signal)
    const [pod] = pods
    const host = pod?.status?.podIP
    if (!host || observedRun(pods)?.state !== "running") return undefined
    return { host, port, isCurrent: () => hasAddress(this.#pods.known.get(pod.metadata?.name ?? ""), pod) }
  }

  async listeningPorts(key: string, signal?: AbortSignal): Promise<ListeningPort[] | undefined> {
    const process = await this.exec(key, { command: ["cat", "/proc/net/tcp", "/proc/net/tcp6"] }, signal).catch(() => undefined)
    if (!process) return undefined
    process.endInput()
    const close = () => void process.close().catch(() => {})
    const text = await readOutput(process.output, { maxBytes: maxPortsBytes, maxMs: portsMs, close }).catch(() => undefined)
    return text === undefined ? undefined : parseListeningPorts(text)
  }

  /** A pod's network belongs to its node, where nothing of this process runs. */
  async listen(): Promise<Server | undefined> {
    throw new EngineError("engine_error", "Runs on a cluster cannot reach ports of clients")
  }

  async resumeExec(): Promise<undefined> {}

  async exec(key: string, request: ExecRequest, signal?: AbortSignal): Promise<ExecProcess | undefined> {
    const pods = await this.#podsOf(key, signal)
    const name = pods[0]?.metadata?.name
    if (name === undefined || observedRun(pods)?.state !== "running") return undefined
    return startExec({ client: this.#client, pod: name, log: this.#log }, request)
  }

  /** Runs continue. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stats[Symbol.dispose]()
    await Promise.all([this.#pods, this.#nodes, this.#events].map((each) => each[Symbol.asyncDispose]()))
  }
}

/** As the watch told. The cluster gives the address of a pod that ended to another one at once. */
function hasAddress(now: V1Pod | undefined, { metadata, status }: V1Pod): boolean {
  return now?.metadata?.uid === metadata?.uid && now?.status?.phase === "Running" && now.status.podIP === status?.podIP
}
