import type { Server } from "node:net"
import type Dockerode from "dockerode"
import { reasonMessages } from "#contract"
import { abortable, type Logger, silentLogger } from "#kit"
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
  type RemovableImage,
  type ResolveSpec,
  type RunAddress,
  type RunSpec,
  type StartResult,
  type StartStep,
  type StoredImage,
  uncountedBytes,
  type WritableLayer,
} from "../engine.ts"
import type { ExecContinuation, ExecProcess, ExecRequest } from "../exec.ts"
import { createGpuProvider } from "../gpus/create-gpu-provider.ts"
import { checkUsableGpus, type GpuProvider } from "../gpus/gpu-provider.ts"
import { KeyedLock } from "../keyed-lock.ts"
import { RegistryAllowlist } from "../registry-allowlist.ts"
import type { DaemonInfo } from "./client/docker-api.ts"
import { type CallOptions, DockerClient } from "./client/docker-client.ts"
import { undefinedIfNotFound } from "./client/errors.ts"
import { GpuAllocations } from "./containers/gpu-allocations.ts"
import { belongsToInstance, containerIdentityOf, containerName } from "./containers/labels.ts"
import { recoverSpec } from "./containers/recover-spec.ts"
import { removeContainer } from "./containers/remove-container.ts"
import { RunStarter } from "./containers/run-starter.ts"
import { loadSeccompProfile } from "./containers/seccomp.ts"
import type { DockerOptions } from "./docker-options.ts"
import { resumeExec, startExec } from "./exec/docker-exec.ts"
import { Firewall } from "./firewall/firewall.ts"
import { Shell } from "./host/shell.ts"
import { DiskGuard } from "./images/disk-guard.ts"
import { ImageRooms } from "./images/image-room.ts"
import { ImageStore } from "./images/image-store.ts"
import { MountPins } from "./mounts/mount-pins.ts"
import { AddressOwnership } from "./network/address-owner.ts"
import { findCollidingGroups } from "./network/kernel-names.ts"
import { listenInContainer } from "./network/run-listener.ts"
import { UserNetworks } from "./network/user-networks.ts"
import { Coalescer } from "./observe/coalescer.ts"
import { ContainerObserver } from "./observe/container-observer.ts"
import { readContainerStats } from "./observe/container-stats.ts"
import { deletedFiles } from "./observe/deleted-files.ts"
import { readEngineDisk } from "./observe/engine-disk.ts"
import { KernelMemoryGuard } from "./observe/kernel-memory.ts"
import { listeningPorts } from "./observe/listening-ports.ts"
import { readLogs } from "./observe/read-logs.ts"
import { watchEvents } from "./observe/watch-events.ts"

const defaultPool = "10.213.0.0/16"
const defaultNetworkIdleMs = 300_000
/** This many concurrent address lookups use an inspection each; further ones share a list. */
const maxSingleLookups = 4

/**
 * Creates an engine on a Docker daemon, which need not run yet. Rejects if the staging folder
 * cannot be created.
 */
export async function createDockerEngine(options: DockerOptions): Promise<Engine> {
  if (options.uid === 0) throw new TypeError("Runs must not use user ID 0, which is root")
  const seccomp = loadSeccompProfile(options.seccompFile)
  const shell = new Shell()
  const pins = new MountPins(options, shell)
  await pins.prepare()
  const firewall = createFirewall(options, shell)
  firewall?.joinGroup()
  return new DockerEngine(options, { pins, firewall, seccomp })
}

function createFirewall(options: DockerOptions, shell: Shell): Firewall | undefined {
  const { instance, logger, networkPool: pool = defaultPool, internet = true, groupInternet: groups = [], allow = [], deny = [] } = options
  const mode = options.firewall ?? options.isolation ?? "on"
  const colliding = findCollidingGroups(groups.map(({ group }) => group))
  if (colliding)
    throw new TypeError(
      `The groups ${colliding.join(" and ")} cannot both have an internet setting: their networks would get the same names`,
    )
  return mode === "off" ? undefined : new Firewall({ shell, instance, pool, internet, groups, allow, deny, logger })
}

class DockerEngine implements Engine {
  readonly name = "docker"
  readonly placement = "quayside"
  readonly #options: DockerOptions
  readonly #log: Logger
  readonly #client: DockerClient
  readonly #observer: ContainerObserver
  readonly #networks: UserNetworks
  readonly #firewall: Firewall | undefined
  readonly #images: ImageStore
  readonly #starter: RunStarter
  readonly #pins: MountPins
  readonly #gpus: GpuProvider
  readonly #gpuHolders: GpuAllocations
  readonly #addressOwners = new AddressOwnership()
  readonly #lock = new KeyedLock()
  readonly #memoryGuard: KernelMemoryGuard
  readonly #observation = new Coalescer(() => this.#observe())
  #closing = new AbortController()
  #addressLookups = 0
  #daemon: Promise<DaemonInfo> | undefined

  constructor(options: DockerOptions, { pins, firewall, seccomp }: { pins: MountPins; firewall: Firewall | undefined; seccomp: string }) {
    this.#options = options
    this.#log = options.logger ?? silentLogger
    this.#client = new DockerClient(options.socketPath)
    this.#observer = new ContainerObserver(this.#client, options.instance)
    const runsToGuard = () => (options.isLeader?.() === false ? [] : this.#observer.running)
    this.#memoryGuard = new KernelMemoryGuard(runsToGuard, { logger: this.#log, clock: options.clock })
    this.#pins = pins
    this.#firewall = firewall
    this.#gpus = createGpuProvider(options)
    this.#gpuHolders = new GpuAllocations(this.#client, options.instance)
    const {
      instance,
      clock,
      networkPool: pool = defaultPool,
      networkPrefix: prefix,
      networkIdleMs: idleMs = defaultNetworkIdleMs,
    } = options
    this.#networks = new UserNetworks(this.#client, { instance, pool, prefix, idleMs, confined: firewall !== undefined, clock })
    const { registries = new RegistryAllowlist(), maxImageBytes: maxBytes = 0, onPull, makeRoom } = options
    const disk = () => readEngineDisk(() => this.#daemonInfo(undefined))
    const diskGuard = new DiskGuard({ disk, minFreeBytes: options.minFreeBytes, clock })
    this.#images = new ImageStore(this.#client, { registries, maxBytes, diskGuard, rooms: new ImageRooms(disk), onPull, makeRoom })
    const [client, networks, images] = [this.#client, this.#networks, this.#images]
    this.#starter = new RunStarter({ client, pins, networks, firewall, images, seccomp, options })
  }

  async prepare(): Promise<void> {
    await Promise.all([this.#pins.assertCanMount(), this.#firewall?.prepare(), this.#gpus.prepare()])
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#client.call((docker, abort) => docker.ping(abort), { signal, timeoutMs: 5_000, kind: "unlimited" })
  }

  async check(signal?: AbortSignal): Promise<void> {
    // The leader has set the rules, and knows what they have to be.
    const isLeader = this.#options.isLeader?.() ?? true
    await Promise.all([this.ping(signal), isLeader && this.#firewall?.check()])
  }

  async capacity(signal?: AbortSignal): Promise<NodeCapacity[]> {
    const [info, devices] = await Promise.all([this.#info(signal), this.#gpus.devices()])
    const gpus = await this.#gpuHolders.withForeignUse(devices, signal)
    return [{ name: info.Name, cpus: info.NCPU, memoryMiB: Math.floor(info.MemTotal / 2 ** 20), gpus }]
  }

  image(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<ImageInfo | undefined> {
    return this.#images.find(reference, policy, signal)
  }

  registryArchitecture(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<string> {
    return this.#images.registryArchitecture(reference, policy, signal)
  }

  pull(reference: string, { policy, report, signal, owner = "" }: PullOptions): Promise<ImageInfo> {
    return this.#images.pull(reference, policy, { report, signal, owner })
  }

  images(signal?: AbortSignal): Promise<StoredImage[]> {
    return this.#images.list(signal)
  }

  removeImage(image: RemovableImage, signal?: AbortSignal): Promise<ImageRemoval> {
    return this.#images.remove(image, signal)
  }

  async start(spec: RunSpec, report: (step: StartStep) => void, signal: AbortSignal, resolveSpec?: ResolveSpec): Promise<StartResult> {
    return this.#lock.runAbortable(spec.key, signal, async (combined) => {
      if (spec.nodes > 1) throw new EngineError("nodes_unsupported", reasonMessages.nodes_unsupported)
      await this.#checkGpus(spec, combined)
      const imageDigest = await this.#starter.start({ spec, report, resolveSpec }, combined)
      return { imageDigest, nodeNames: [await this.#nodeName(combined)], gpuDevices: [...spec.gpus] }
    })
  }

  async #checkGpus(spec: RunSpec, signal: AbortSignal): Promise<void> {
    if (spec.gpus.length === 0) return
    checkUsableGpus(spec, await this.#gpus.devices())
    await this.#gpuHolders.assertFree(spec, signal)
  }

  /** Concurrent observations share one list. */
  observe(signal?: AbortSignal): Promise<ObservedRun[]> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    return abortable(this.#observation.run(), signal)
  }

  async #observe(): Promise<ObservedRun[]> {
    const { signal } = this.#closing
    if (this.#options.isLeader?.() === false) return this.#observer.observe(await this.#nodeName(signal), signal)
    const repairing = this.#repairFirewall()
    try {
      const pinned = await this.#pins.pinnedKeys()
      const snapshot = this.#networks.beginSnapshot()
      const runs = await this.#observer.observe(await this.#nodeName(signal), signal)
      await this.#releaseLeftovers(pinned, runs)
      await this.#networks.removeIdle(this.#observer.networks, snapshot)
      return this.#memoryGuard.explain(runs)
    } finally {
      await repairing
    }
  }

  /**
   * Never rejects: observation must work even if runs cannot be confined. Starts then fail, and
   * `check` reports it.
   */
  async #repairFirewall(): Promise<void> {
    try {
      if (await this.#firewall?.ensure()) this.#log.warn({}, "firewall rules that confine runs were missing or changed; restored them")
    } catch (err) {
      this.#log.error({ err }, "firewall rules that confine runs are missing and cannot be restored")
    }
  }

  /**
   * Releases the pins of interrupted starts, of this process or an earlier one. A container in
   * state `created` may be about to start: the next `start` or `stop` of its key handles it.
   */
  async #releaseLeftovers(pinned: readonly string[], runs: readonly ObservedRun[]): Promise<void> {
    const pending = new Set(runs.filter((run) => run.state === "created").map((run) => run.key))
    for (const key of pinned) {
      if (pending.has(key)) continue
      await this.#lock
        .runIfFree(key, () => this.#releaseLeftover(key))
        .catch((err: unknown) => this.#log.error({ key, err }, "cannot release pinned directories"))
    }
  }

  async #releaseLeftover(key: string): Promise<void> {
    // A start that was in progress during the list has released its own pins by now.
    await this.#pins.release(key, () => this.#log.warn({ key }, "releasing the pins of an interrupted start"))
  }

  async watch(changed: () => void, signal: AbortSignal): Promise<void> {
    const { instance, clock } = this.#options
    const onChange = (container: string | undefined) => {
      this.#observer.invalidate(container)
      if (container === undefined) this.#starter.reset()
      changed()
    }
    await Promise.all([watchEvents(this.#client, { instance, onChange, clock, signal }), this.#memoryGuard.watch(signal)])
  }

  stop(key: string, { graceMs = 10_000, signal }: { graceMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    return this.#lock.abortAndRun(key, signal, async () => {
      const found = await this.#find(key, signal, { kind: "remove" })
      if (found) {
        const owner = containerIdentityOf(found.Config.Labels)?.user
        await removeContainer(this.#client, found, { graceMs, owner, signal })
      }
      await this.#pins.release(key)
    })
  }

  async *logs(key: string, options: LogOptions = {}): AsyncIterable<ContainerLogLine> {
    const found = await this.#find(key, options.signal).catch((error: unknown) => {
      if (options.signal?.aborted) return undefined
      throw error
    })
    if (found) yield* readLogs(this.#client, found.Id, options)
  }

  stats(signal?: AbortSignal): Promise<ContainerStats[]> {
    return readContainerStats(this.#observer.running, this.#gpus, signal)
  }

  async writableLayers(signal?: AbortSignal): Promise<ReadonlyMap<string, WritableLayer>> {
    const { running } = this.#observer
    const [layers, deleted] = await Promise.all([
      this.#observer.writableLayers(signal),
      deletedFiles(running, { pathOf: ({ pid }) => `/proc/${pid}/root/`, countsSentFiles: false, signal }),
    ])
    for (const [key, layer] of layers) layer.bytes += Math.min(deleted.get(key) ?? 0, uncountedBytes)
    return layers
  }

  deletedFiles(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    return deletedFiles(this.#observer.running, { pathOf: () => this.#options.filesRoot, countsSentFiles: true, signal })
  }

  async freeDisk(signal?: AbortSignal): Promise<number | null> {
    const disk = await readEngineDisk(() => this.#daemonInfo(signal))
    signal?.throwIfAborted()
    return disk?.freeBytes ?? null
  }

  async recoverSpec(key: string, signal?: AbortSignal): Promise<RecoveredSpec | undefined> {
    const found = await this.#find(key, signal)
    return found && recoverSpec(found)
  }

  async address(key: string, port: number, signal?: AbortSignal): Promise<RunAddress | undefined> {
    // Hundreds of callers arrive at once after a restart.
    if (this.#addressLookups >= maxSingleLookups) return this.#addressByList(key, port, signal)
    this.#addressLookups += 1
    const found = await this.#find(key, signal).finally(() => {
      this.#addressLookups -= 1
    })
    if (!found?.State.Running) return undefined
    const host = Object.values(found.NetworkSettings.Networks).find((network) => network.IPAddress !== "")?.IPAddress
    return host === undefined
      ? undefined
      : { host, port, isCurrent: this.#addressOwners.checkFor({ id: found.Id, pid: found.State.Pid, host }) }
  }

  async listeningPorts(key: string, signal?: AbortSignal): Promise<ListeningPort[] | undefined> {
    const found = await this.#find(key, signal)
    return found && listeningPorts({ id: found.Id, pid: found.State.Pid })
  }

  async listen(key: string, port: number, signal?: AbortSignal): Promise<Server | undefined> {
    const container = await this.#find(key, signal)
    if (!container?.State.Running) return undefined
    return listenInContainer({ container: container.Id, init: container.State.Pid, port })
  }

  async exec(key: string, request: ExecRequest, signal?: AbortSignal): Promise<ExecProcess | undefined> {
    const container = await this.#find(key, signal, { owner: request.user })
    if (!container?.State.Running) return undefined
    return startExec({ client: this.#client, log: this.#log, container }, request)
  }

  resumeExec(continuation: ExecContinuation): Promise<ExecProcess | undefined> {
    return resumeExec({ client: this.#client, log: this.#log }, continuation)
  }

  async #addressByList(key: string, port: number, signal: AbortSignal | undefined): Promise<RunAddress | undefined> {
    const found = await this.#observer.findAddress(key, signal)
    if (!found) return undefined
    const { id, host } = found
    return { host, port, isCurrent: this.#addressOwners.checkFor({ id, pid: () => this.#observer.pidOf(id), host }) }
  }

  async #find(
    key: string,
    signal: AbortSignal | undefined,
    options: Pick<CallOptions, "kind" | "owner"> = {},
  ): Promise<Dockerode.ContainerInspectInfo | undefined> {
    const inspect = this.#client.call((docker, abort) => docker.getContainer(containerName(key)).inspect(abort), { signal, ...options })
    const found = await undefinedIfNotFound(inspect)
    return found && belongsToInstance(this.#options.instance, found.Config.Labels) ? found : undefined
  }

  #info(signal: AbortSignal | undefined) {
    return this.#client.call((docker, abort) => docker.info(abort), { signal })
  }

  async #nodeName(signal: AbortSignal | undefined): Promise<string> {
    return (await this.#daemonInfo(signal)).Name
  }

  /** The daemon's description of itself, from the first call. */
  async #daemonInfo(signal: AbortSignal | undefined): Promise<DaemonInfo> {
    this.#daemon ??= this.#info(undefined).then((info) => {
      if (info.LiveRestoreEnabled === false) this.#log.warn({}, "Docker's live-restore is off: runs end when Docker restarts")
      return info
    })
    try {
      return await this.#daemon
    } catch (error) {
      this.#daemon = undefined
      signal?.throwIfAborted()
      throw error
    }
  }

  /**
   * Runs continue and stay confined. Unused networks are removed, and the firewall's rules with the
   * last network.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new EngineError("engine_error", "The engine is closed"))
    await this.#observation.whenIdle()
    this.#closing = new AbortController()
    const isLeader = this.#options.isLeader?.() ?? true
    if (isLeader && (await this.#networks.removeUnused())) await this.#firewall?.remove().catch(() => {})
    this.#client.close()
  }
}
