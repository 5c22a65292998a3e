import type { V1Pod } from "@kubernetes/client-node"
import { type Clock, type Logger, silentLogger, systemClock } from "#kit"
import { mountTurns, openMountSources } from "../../containers/mount-sources.ts"
import { runtimeCreatedDirectories } from "../../containers/run-directories.ts"
import { EngineError, type NodeCapacity, type ResolveSpec, type RunSpec, type StartResult, type StartStep } from "../../engine.ts"
import type { CallOptions, ClusterClient } from "../client/cluster-client.ts"
import type { Reflector } from "../client/reflector.ts"
import type { ClusterImages, FoundImage } from "../images/cluster-images.ts"
import type { MountLocks } from "../mounts/mount-locks.ts"
import { applyPolicy, internetLabelValue, peersPolicy } from "../network/network-policies.ts"
import { countFittingPods, neverRoomForAllError } from "./fitting-pods.ts"
import { imageVolumes } from "./image-volumes.ts"
import { podIdentity, podName, schedulingGate, storedSpec } from "./names.ts"
import type { PodEventFeed, PodEvents } from "./pod-events.ts"
import {
  type ManifestContext,
  podManifest,
  pullSecretManifest,
  resourceRequestOf,
  secretManifest,
  serviceManifest,
} from "./pod-manifest.ts"
import { digestOf, stateOf } from "./pod-state.ts"
import { assertCanStart, neverSchedulableError, unschedulableMessage } from "./start-failures.ts"

/** How often a start that waits says so: what waits too long without a word is ended. */
const reportEveryMs = 5_000
/** How long the pods of one run may hold nodes while others of them find none. */
const togetherMs = 60_000
/** How long the undoing of a failed start may take. */
const cleanupMs = 60_000
/** A right that was judged longer ago than this is judged again when the programs run. */
const judgedForMs = 2_000

/** A pod that was just created, and of which nothing else is needed. */
type NewPod = Pick<V1Pod, "metadata">

/** Others took the room that all pods of a run had together: they give it back and wait again. */
class ScatteredError extends Error {}

export interface StartRequest {
  spec: RunSpec
  report: (step: StartStep) => void
  resolveSpec: ResolveSpec | undefined
}

interface StarterParts {
  client: ClusterClient
  /** Those whose programs have not started are its selected items. */
  pods: Reflector<V1Pod>
  events: PodEventFeed
  images: ClusterImages
  locks: MountLocks
  context: ManifestContext
  /** Of the nodes with that kind of processor; undefined: of all. */
  capacity: (signal: AbortSignal, architecture: string | undefined) => Promise<NodeCapacity[]>
  remove: PodRemover
  clock?: Clock | undefined
  logger?: Logger | undefined
}

/** Deletes all pods of a run, and resolves when the cluster has none of them. */
export type PodRemover = (key: string, options: { graceMs: number; signal?: AbortSignal | undefined }) => Promise<void>

/** Brings a run from nothing to programs that run on all of its nodes. */
export class RunStarter {
  readonly #parts: StarterParts
  readonly #clock: Clock
  readonly #log: Logger
  /** The keys of runs whose starts hold locks. */
  readonly #locking = new Set<string>()

  constructor(parts: StarterParts) {
    this.#parts = parts
    this.#clock = parts.clock ?? systemClock
    this.#log = parts.logger ?? silentLogger
  }

  async start(request: StartRequest, signal: AbortSignal): Promise<StartResult> {
    const { pods, remove } = this.#parts
    const { key, nodes } = request.spec
    signal.throwIfAborted()
    await pods.items(signal)
    const left = sortByRank(pods.group(key))
    const runs = left.length === nodes && left.every((pod) => stateOf(pod) === "running" && !pod.metadata?.deletionTimestamp)
    if (runs) return resultOf(left)
    if (left.length > 0) await remove(key, { graceMs: 0, signal })
    for (;;) {
      let locked: readonly string[] = []
      try {
        return await this.#create(request, signal, (sources) => {
          locked = sources
          this.#locking.add(key)
        })
      } catch (error) {
        await this.#undo(key)
        if (!(error instanceof ScatteredError)) throw error
      } finally {
        this.#locking.delete(key)
        await this.#unlock(locked, request.spec)
      }
    }
  }

  /** Whether the cluster itself admits all pods of a run at once. */
  get #hasQueue(): boolean {
    return this.#parts.context.options.pods?.queue !== undefined
  }

  get #isLeader(): boolean {
    return this.#parts.context.options.isLeader?.() ?? true
  }

  /** If the cluster cannot be reached, `observe` shows what is left. */
  async #undo(key: string): Promise<void> {
    if (!this.#isLeader) return
    const { remove } = this.#parts
    const late = AbortSignal.timeout(cleanupMs)
    await remove(key, { graceMs: 0, signal: late }).catch((err: unknown) => this.#log.warn({ key, err }, "a failed start was not undone"))
  }

  async #create(request: StartRequest, signal: AbortSignal, onLocked: (sources: readonly string[]) => void): Promise<StartResult> {
    const { report, resolveSpec } = request
    report({ state: "pulling", progress: null })
    const image = await this.#parts.images.findForRun(request.spec, signal)
    if (request.spec.nodes > 1 && !this.#hasQueue) await this.#untilAllFit(request, image, signal)
    const { spec, judgedAt } = await this.#resolveAndPrepare(request, image, signal)
    const created = await this.#createPods(spec, image, signal)
    onLocked(spec.mounts.map(({ source }) => source))
    await this.#parts.locks.lock(spec.mounts, spec.user)
    using events = await this.#parts.events.follow(created, signal)
    await this.#openGates(created, createCall(spec, signal))
    const started = await this.#untilStarted({ spec, report, events, image }, signal)
    if (this.#clock.now() - judgedAt > judgedForMs) await assertStillAllowed(spec, image, resolveSpec)
    return resultOf(started, image)
  }

  /** Returns the spec, and when the mounts were authorized. */
  async #resolveAndPrepare(
    { spec: planned, resolveSpec }: StartRequest,
    image: FoundImage,
    signal: AbortSignal,
  ): Promise<{ spec: RunSpec; judgedAt: number }> {
    using _turn = await mountTurns.acquire(planned.user, signal)
    const spec: RunSpec = { ...planned, ...(await resolveSpec?.(image.info)) }
    const judgedAt = this.#clock.now()
    signal.throwIfAborted()
    await this.#prepareMounts(spec, image)
    return { spec, judgedAt }
  }

  /** Checks the sources, and makes the mount points inside of them as the runs' user. */
  async #prepareMounts(spec: RunSpec, { info }: FoundImage): Promise<void> {
    const { options, uid, gid } = this.#parts.context
    const directories = runtimeCreatedDirectories(spec, info)
    const opened = await openMountSources(options.filesRoot, { mounts: spec.mounts, directories, uid, gid })
    await opened[Symbol.asyncDispose]()
  }

  /** The pods wait at their gates until all that belongs to them exists. */
  async #createPods(spec: RunSpec, image: FoundImage, signal: AbortSignal): Promise<NewPod[]> {
    const { client, context } = this.#parts
    const call = createCall(spec, signal)
    const hasCredentials = image.host !== undefined && spec.imagePolicy.credentials !== undefined
    const internet = internetLabelValue(context.options, spec.internetOf)
    const volumes = imageVolumes(spec, image.info)
    const { reference, architecture, host } = image
    const common = { spec, image: reference, isPreloaded: host === undefined, architecture, internet, hasCredentials, volumes }
    const pods: NewPod[] = []
    for (let rank = 0; rank < spec.nodes; rank += 1) {
      const body = podManifest(context, { ...common, rank })
      const create = client.apply(
        "create the pods of runs",
        ({ core }, fields, settings) => core.patchNamespacedPod({ ...fields, name: podName(spec.key, rank), body }, settings),
        { ...call, onlyMetadata: true },
      )
      pods.push(await create)
    }
    const { name = "", uid = "" } = pods[0]?.metadata ?? {}
    const owner = { name, uid }
    const secrets = [secretManifest(context, spec, owner)]
    if (hasCredentials) secrets.push(pullSecretManifest(context, { spec, owner, host: image.host ?? "" }))
    await Promise.all([
      ...secrets.map((body) => this.#applySecret(body, call)),
      ...(spec.nodes > 1
        ? [this.#applyService(spec, owner, call), applyPolicy(client, peersPolicy(context.options, spec.key, owner), call)]
        : []),
    ])
    return pods
  }

  #applySecret(body: ReturnType<typeof secretManifest>, call: CallOptions): Promise<unknown> {
    const name = body.metadata?.name ?? ""
    return this.#parts.client.apply(
      "create the secrets of runs",
      ({ core }, fields, settings) => core.patchNamespacedSecret({ ...fields, name, body }, settings),
      { ...call, onlyMetadata: true },
    )
  }

  #applyService(spec: RunSpec, owner: { name: string; uid: string }, call: CallOptions): Promise<unknown> {
    const { client, context } = this.#parts
    const body = serviceManifest(context, spec, owner)
    const name = body.metadata?.name ?? ""
    return client.apply(
      "create the services of runs",
      ({ core }, fields, settings) => core.patchNamespacedService({ ...fields, name, body }, settings),
      call,
    )
  }

  /**
   * Waits until all pods of a run on several nodes would find room at once. Until then none of them
   * exists: many starts may wait, and for long.
   */
  async #untilAllFit(
    { spec, report }: Pick<StartRequest, "spec" | "report">,
    { architecture }: FoundImage,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, context, capacity } = this.#parts
    const { gpuResource = "nvidia.com/gpu" } = context.options
    const request = resourceRequestOf(spec, context.options)
    const began = this.#clock.now()
    for (;;) {
      const nodes = await capacity(signal, architecture)
      const never = neverSchedulableError(spec, nodes, "") ?? neverRoomForAllError(spec, request, nodes)
      if (never) throw never
      const fitting = await countFittingPods(client, { spec, request, nodes, gpuResource }, signal)
      if (fitting >= spec.nodes) return
      const seconds = Math.round((this.#clock.now() - began) / 1_000)
      const step = `Waits until ${spec.nodes} nodes have room at once; now there is room for ${fitting}`
      report({ state: "pulling", progress: { step, current: seconds, total: null, unit: "seconds" } })
      await this.#clock.sleep(reportEveryMs, signal)
    }
  }

  async #openGates(pods: readonly NewPod[], call: CallOptions): Promise<void> {
    const { client } = this.#parts
    const { setHeaderOptions, PatchStrategy } = client.library
    const body = [
      { op: "test", path: "/spec/schedulingGates/0/name", value: schedulingGate },
      { op: "remove", path: "/spec/schedulingGates/0" },
    ]
    await Promise.all(
      pods.map(({ metadata }) =>
        client.core(
          "change the pods of runs",
          (core, settings) =>
            core.patchNamespacedPod(
              { namespace: client.namespace, name: metadata?.name ?? "", body },
              setHeaderOptions("Content-Type", PatchStrategy.JsonPatch, settings),
            ),
          { ...call, onlyMetadata: true },
        ),
      ),
    )
  }

  /** Resolves once every program has started, which is before it answers, and even if it ended. */
  async #untilStarted(
    { spec, report, events, image }: { spec: RunSpec; report: StartRequest["report"]; events: PodEvents; image: FoundImage },
    signal: AbortSignal,
  ): Promise<V1Pod[]> {
    const { pods, capacity } = this.#parts
    const began = this.#clock.now()
    let unschedulable: string | undefined
    const reported = new Set<string>()
    const scattered = spec.nodes > 1 && !this.#hasQueue ? AbortSignal.timeout(togetherMs) : undefined
    // The watch shows new pods later than the request that created them.
    let areKnown = false
    const change = (own: V1Pod[]) => {
      areKnown ||= own.length === spec.nodes
      return areKnown ? nextChange(sortByRank(own), spec, unschedulable) : undefined
    }
    const reportProgress = () => {
      const { state, text } = unschedulable === undefined ? events.step : waitingStep(unschedulable)
      const seconds = Math.round((this.#clock.now() - began) / 1_000)
      reported.add(state)
      report({ state, progress: text === undefined ? null : { step: text, current: seconds, total: null, unit: "seconds" } })
    }
    using _ = this.#repeat(reportProgress, events)
    for (;;) {
      const either = scattered && unschedulable !== undefined ? AbortSignal.any([signal, scattered]) : signal
      const next = await pods.until(spec.key, change, either).catch((error: unknown) => {
        throw scattered?.aborted && !signal.aborted ? new ScatteredError() : error
      })
      if ("started" in next) {
        for (const state of ["creating", "starting"] as const) {
          if (!reported.has(state)) report({ state, progress: null })
          signal.throwIfAborted()
        }
        return next.started
      }
      const never =
        next.problem === undefined ? undefined : neverSchedulableError(spec, await capacity(signal, image.architecture), next.problem)
      if (never) throw never
      unschedulable = next.problem
      reportProgress()
    }
  }

  /** Calls `report` after each event and every few seconds. */
  #repeat(report: () => void, events: PodEvents): Disposable {
    const stop = events.onChange(report)
    const timer = setInterval(report, reportEveryMs)
    return {
      [Symbol.dispose]() {
        stop()
        clearInterval(timer)
      },
    }
  }

  /**
   * Pods that an earlier process created, or that a failed start left, may be about to mount from
   * the same directories.
   */
  async #unlock(sources: readonly string[], { user }: RunSpec): Promise<void> {
    const { locks, pods } = this.#parts
    if (!this.#isLeader) return locks.forget(sources)
    if (sources.length === 0) return
    const isLeft = ({ metadata }: V1Pod) => !this.#locking.has(podIdentity(metadata)?.key ?? "")
    const needed = () => [...pods.selected].filter(isLeft).flatMap((pod) => sourcesOf(pod))
    await locks
      .unlock(sources, user, needed)
      .catch((err: unknown) => this.#log.error({ err }, "directories that were mounted still belong to Quayside's user"))
  }
}

function sourcesOf(pod: V1Pod): string[] {
  return storedSpec(pod.metadata)?.mounts.map(({ source }) => source) ?? []
}

/** The pods of a run in the order of their ranks. */
export function sortByRank(pods: readonly V1Pod[]): V1Pod[] {
  const rankOf = ({ metadata }: V1Pod) => podIdentity(metadata)?.rank ?? 0
  return [...pods].sort((a, b) => rankOf(a) - rankOf(b))
}

/**
 * The pods once their programs have started, or what the scheduler says now; undefined if that has
 * not changed. Throws what makes the start impossible.
 */
function nextChange(
  own: V1Pod[],
  spec: RunSpec,
  unschedulable: string | undefined,
): { started: V1Pod[] } | { problem: string | undefined } | undefined {
  if (own.length < spec.nodes) throw lostDuringStart()
  for (const pod of own) assertCanStart(pod, spec)
  if (own.every((pod) => stateOf(pod) !== "created")) return { started: own }
  const problem = own.map(unschedulableMessage).find((said) => said !== undefined)
  return problem === unschedulable ? undefined : { problem }
}

function createCall({ user }: RunSpec, signal: AbortSignal): CallOptions {
  return { signal, turn: { kind: "create", owner: user } }
}

function waitingStep(said: string): { state: StartStep["state"]; text: string } {
  return { state: "pulling", text: `The cluster has no room yet: ${said}` }
}

function lostDuringStart(): EngineError {
  return new EngineError("lost", "The run's pods were deleted during its start")
}

async function assertStillAllowed(spec: RunSpec, image: FoundImage, resolveSpec: ResolveSpec | undefined): Promise<void> {
  const now = await resolveSpec?.(image.info)
  if (now && JSON.stringify(now.mounts) !== JSON.stringify(spec.mounts))
    throw new EngineError("access_withdrawn", "The directories that the run may mount changed while it started")
}

function resultOf(pods: readonly V1Pod[], image?: FoundImage): StartResult {
  return {
    imageDigest: image?.info.digest || (pods[0] ? digestOf(pods[0]) : ""),
    nodeNames: pods.flatMap((pod) => pod.spec?.nodeName ?? []),
    gpuDevices: [],
  }
}
