import { once } from "node:events"
import { stat } from "node:fs/promises"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { reasonMessages } from "#contract"
import { splitPath } from "#kit"
import {
  type ContainerLogLine,
  type ContainerStats,
  type Engine,
  EngineError,
  type GpuDevice,
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
  type WritableLayer,
} from "../engine.ts"
import type { ExecProcess, ExecRequest } from "../exec.ts"
import { checkUsableGpus } from "../gpus/gpu-provider.ts"
import { mockGpuDevices } from "../gpus/mock-gpus.ts"
import { KeyedLock } from "../keyed-lock.ts"

import { type Behaviour, type BehaviourName, behaviourOf } from "./behaviour.ts"
import type { FakeContainer } from "./fake-container.ts"
import type { FakeDaemon } from "./fake-daemon.ts"
import type { FakeEngineOptions } from "./fake-engine-options.ts"
import { startFakeExec } from "./fake-exec.ts"
import { FakeImages } from "./fake-images.ts"
import { rejectOnAbort } from "./fake-pull.ts"
import { readLogs } from "./read-logs.ts"

type Report = (step: StartStep) => void

interface StartRequest {
  spec: RunSpec
  report: Report
  resolveSpec: ResolveSpec | undefined
}

/**
 * An engine whose programs are listeners in this process; an image's name chooses its behaviour
 * (`behaviour.ts`).
 */
export class FakeEngine implements Engine {
  readonly name = "fake"
  readonly placement = "quayside"
  readonly #options: FakeEngineOptions
  readonly #daemon: FakeDaemon
  readonly #images: FakeImages
  readonly #lock = new KeyedLock()

  constructor(options: FakeEngineOptions) {
    this.#options = options
    this.#daemon = options.daemon
    this.#images = new FakeImages(options)
  }

  async prepare(): Promise<void> {}

  async ping(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (!this.#daemon.reachable) throw new EngineError("engine_unreachable", reasonMessages.engine_unreachable)
  }

  check(signal?: AbortSignal): Promise<void> {
    return this.ping(signal)
  }

  async capacity(signal?: AbortSignal): Promise<NodeCapacity[]> {
    await this.ping(signal)
    const { cpus = 64, memoryMiB = 262_144 } = this.#options
    return [{ name: "fake", cpus, memoryMiB, gpus: this.#gpus() }]
  }

  async image(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<ImageInfo | undefined> {
    await this.ping(signal)
    return this.#images.find(reference, policy)
  }

  async registryArchitecture(reference: string, policy: ImagePolicy, signal?: AbortSignal): Promise<string> {
    await this.ping(signal)
    return this.#images.registryArchitecture(reference, policy)
  }

  async pull(reference: string, { policy, report, signal, owner = "" }: PullOptions): Promise<ImageInfo> {
    await this.ping(signal)
    return this.#images.pull(reference, policy, { report, signal, owner })
  }

  async images(signal?: AbortSignal): Promise<StoredImage[]> {
    await this.ping(signal)
    return this.#images.list()
  }

  async removeImage(image: RemovableImage, signal?: AbortSignal): Promise<ImageRemoval> {
    await this.ping(signal)
    const containers = () => [...this.#daemon.containers.values()]
    return this.#images.remove(image, (digest) => containers().some(({ spec }) => spec.imageDigest === digest))
  }

  start(spec: RunSpec, report: Report, signal: AbortSignal, resolveSpec?: ResolveSpec): Promise<StartResult> {
    return this.#lock.runAbortable(spec.key, signal, (both) => this.#start({ spec, report, resolveSpec }, both))
  }

  async #start(request: StartRequest, signal: AbortSignal): Promise<StartResult> {
    const { spec } = request
    await this.ping(signal)
    const left = this.#ownContainer(spec.key)
    if (left?.state === "running" && isDeepStrictEqual(left.spec.gpus, spec.gpus)) return toStartResult(left)
    if (left) await this.#daemon.remove(spec.key)
    try {
      return await this.#create(request, signal)
    } catch (error) {
      await this.#daemon.remove(spec.key)
      throw error
    }
  }

  async #create({ spec: requested, report, resolveSpec }: StartRequest, signal: AbortSignal): Promise<StartResult> {
    const behaviour = behaviourOf(requested.image)
    this.#checkSpec(requested)
    using held = await this.#images.ensure(requested, { report: (progress) => report({ state: "pulling", progress }), signal })
    const { image } = held
    report({ state: "creating", progress: null })
    const spec = { ...requested, ...(await resolveSpec?.(image)), imageDigest: image.digest }
    await this.#checkMounts(spec)
    if (behaviour.create) throw failure(behaviour.create)
    const container = this.#daemon.add(this.#options.instance, spec)
    await this.#hangIfStuck(behaviour, "creating", signal)
    report({ state: "starting", progress: null })
    await this.#hangIfStuck(behaviour, "starting", signal)
    if (behaviour.start) throw failure(behaviour.start)
    await this.ping(signal)
    await this.#daemon.run(container)
    return toStartResult(container)
  }

  #checkSpec(spec: RunSpec): void {
    if (spec.nodes > 1) throw failure("nodes_unsupported")
    checkUsableGpus(spec, this.#gpus())
    const others = this.#ownContainers().filter(({ state, spec: other }) => state !== "exited" && other.key !== spec.key)
    const taken = spec.gpus.find((id) => others.some(({ spec: other }) => other.gpus.includes(id)))
    if (taken !== undefined) throw new EngineError("insufficient_gpu", `The GPU ${taken} is still in use by another container`)
  }

  #gpus(): GpuDevice[] {
    return mockGpuDevices(this.#options.mockGpus ?? 0).map((device) => ({ ...device, fault: this.#daemon.gpuFaults.get(device.id) }))
  }

  async #checkMounts(spec: RunSpec): Promise<void> {
    const { filesRoot } = this.#options
    if (filesRoot === undefined) return
    for (const { source, target } of spec.mounts) {
      const found = await stat(join(filesRoot, ...splitPath(source))).catch(() => undefined)
      if (!found?.isDirectory())
        throw new EngineError("mount_missing", `The directory ${source}, to be mounted at ${target}, does not exist`)
    }
  }

  async #hangIfStuck(behaviour: Behaviour, where: Behaviour["stuck"], signal?: AbortSignal): Promise<void> {
    if (behaviour.stuck !== where) return signal?.throwIfAborted()
    await rejectOnAbort(signal ?? new AbortController().signal)
  }

  async observe(signal?: AbortSignal): Promise<ObservedRun[]> {
    await this.ping(signal)
    return this.#ownContainers().map(toObservedRun)
  }

  async watch(changed: () => void, signal: AbortSignal): Promise<void> {
    const notify = () => {
      if (this.#daemon.reachable) changed()
    }
    notify()
    this.#daemon.events.on("changed", notify)
    await rejectOnAbort(signal).catch(() => {})
    this.#daemon.events.off("changed", notify)
  }

  stop(key: string, options: { graceMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    return this.#lock.abortAndRun(key, options.signal, () => this.#stop(key, options))
  }

  async #stop(key: string, { graceMs = 10_000, signal }: { graceMs?: number; signal?: AbortSignal }): Promise<void> {
    await this.ping(signal)
    const container = this.#ownContainer(key)
    if (!container) return
    const behaviour = behaviourOf(container.spec.image)
    await this.#hangIfStuck(behaviour, "stopping", signal)
    if (container.state === "running") {
      if (behaviour.name === "stubborn") await this.#daemon.clock.sleep(graceMs, signal)
      await this.#daemon.exit(key, behaviour.name === "stubborn" ? 137 : 143)
    }
    await this.#daemon.remove(key)
  }

  async *logs(key: string, options: LogOptions = {}): AsyncIterable<ContainerLogLine> {
    await this.ping(options.signal)
    const container = this.#ownContainer(key)
    if (container) yield* readLogs(this.#daemon, container, options)
  }

  async stats(signal?: AbortSignal): Promise<ContainerStats[]> {
    signal?.throwIfAborted()
    const now = this.#daemon.clock.now()
    return this.#ownContainers().flatMap((container) => (container.state === "running" ? [statsOf(container, now)] : []))
  }

  async listeningPorts(key: string, signal?: AbortSignal): Promise<ListeningPort[] | undefined> {
    await this.ping(signal)
    const container = this.#ownContainer(key)
    if (container?.state !== "running") return undefined
    const { listensElsewhere, argument } = behaviourOf(container.spec.image)
    if (listensElsewhere === "everywhere") return [{ port: argument, isLocal: false }]
    const isOpen = this.#daemon.portOf(key) !== undefined
    return isOpen || listensElsewhere ? [{ port: container.spec.port, isLocal: listensElsewhere !== undefined }] : []
  }

  /** The runs' loopback address is that of this process. */
  async listen(key: string, port: number, signal?: AbortSignal): Promise<Server | undefined> {
    await this.ping(signal)
    if (this.#ownContainer(key)?.state !== "running") return undefined
    const server = createServer({ pauseOnConnect: true, allowHalfOpen: true })
    server.listen(port, "127.0.0.1")
    await once(server, "listening").catch(() => {
      throw new EngineError("engine_error", `Port ${port} of the run is in use`)
    })
    return server
  }

  async resumeExec(): Promise<undefined> {}

  async exec(key: string, request: ExecRequest, signal?: AbortSignal): Promise<ExecProcess | undefined> {
    await this.ping(signal)
    const container = this.#ownContainer(key)
    return container?.state === "running" ? startFakeExec(this.#daemon, container.spec, request) : undefined
  }

  async writableLayers(signal?: AbortSignal): Promise<ReadonlyMap<string, WritableLayer>> {
    await this.ping(signal)
    return new Map(
      this.#ownContainers().map(({ spec }) => [spec.key, { bytes: writtenBytes(behaviourOf(spec.image)), maxMiB: spec.diskMiB ?? null }]),
    )
  }

  async deletedFiles(signal?: AbortSignal): Promise<ReadonlyMap<string, number>> {
    signal?.throwIfAborted()
    const bytes: Partial<Record<BehaviourName, (argument: number) => number>> = {
      holds: (argument) => argument * 2 ** 20,
      hides: () => Number.POSITIVE_INFINITY,
    }
    return new Map(
      this.#ownContainers().flatMap(({ spec }) => {
        const { name, argument } = behaviourOf(spec.image)
        const bytesOf = bytes[name]
        return bytesOf ? [[spec.key, bytesOf(argument)] as const] : []
      }),
    )
  }

  async freeDisk(signal?: AbortSignal): Promise<number | null> {
    signal?.throwIfAborted()
    return this.#daemon.freeDisk
  }

  async recoverSpec(key: string, signal?: AbortSignal): Promise<RecoveredSpec | undefined> {
    await this.ping(signal)
    const container = this.#ownContainer(key)
    if (!container) return undefined
    const { imageDigest: _, ...spec } = container.spec
    return spec
  }

  async address(key: string, port: number, signal?: AbortSignal): Promise<RunAddress | undefined> {
    await this.ping(signal)
    const container = this.#ownContainer(key)
    if (container?.state !== "running") return undefined
    const listening = port === container.spec.port ? this.#daemon.portOf(key) : undefined
    return { host: "127.0.0.1", port: listening ?? closedPort }
  }

  #ownContainers(): FakeContainer[] {
    return [...this.#daemon.containers.values()].filter((container) => container.instance === this.#options.instance)
  }

  #ownContainer(key: string): FakeContainer | undefined {
    const container = this.#daemon.containers.get(key)
    return container?.instance === this.#options.instance ? container : undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/**
 * Nothing listens on TCP port 2 (fetch itself rejects port 1), so a connection to it is refused
 * like one to a container's closed port.
 */
const closedPort = 2

function failure(code: keyof typeof reasonMessages): EngineError {
  return new EngineError(code, reasonMessages[code], { detail: "reported by the fake engine" })
}

function toStartResult({ spec }: FakeContainer): StartResult {
  return { imageDigest: spec.imageDigest ?? "", nodeNames: ["fake"], gpuDevices: [...spec.gpus] }
}

function toObservedRun(container: FakeContainer): ObservedRun {
  const { spec, state, exitCode, oomKilled, startedAt, finishedAt } = container
  const { key, run, project, user } = spec
  return { key, run, project, user, state, exitCode, oomKilled, startedAt, finishedAt, ...toStartResult(container) }
}

/**
 * Simulated figures: a sixteenth of the memory, no traffic, and processor time only for
 * `fake/busy`.
 */
function statsOf({ spec, startedAt, oomKilled }: FakeContainer, now: number): ContainerStats {
  const cpuSeconds = behaviourOf(spec.image).isBusy ? (spec.cpus * (now - (startedAt ?? now))) / 1_000 : 0
  const memory = Math.floor(spec.memoryMiB / 16) * 2 ** 20
  return { key: spec.key, cpuSeconds, memory, oomKills: oomKilled ? 1 : 0, gpuMemory: null, gpuBusy: null, networkIn: 0, networkOut: 0 }
}

function writtenBytes({ name, argument }: Behaviour): number {
  return name === "writes" ? argument * 2 ** 20 : 0
}
