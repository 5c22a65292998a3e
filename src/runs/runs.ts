import { randomBytes } from "node:crypto"
import { type Progress, reasonMessages } from "#contract"
import { type ContainerLogLine, type Engine, EngineError, type ImageInfo, type ImagePolicy, type LogOptions } from "#engine"
import type { Actor } from "#events"
import { type Clock, HeavyWorkQueue, type Logger, silentLogger, systemClock } from "#kit"
import type { Reads, RunRow, Store } from "#store"
import { admit, findByIdempotencyKey } from "./admission/admit.ts"
import { CapacityCache, type NodeUsage, nodeUsage } from "./admission/capacity-cache.ts"
import { previewStart, type StartPreview } from "./admission/decision.ts"
import type { AdmissionInput, IdempotencyKey, StartRequest } from "./admission/requests.ts"
import type { PrepareOptions, ReplanResult, RunEvents, RunsContext } from "./context.ts"
import { type StopOptions, stopRun } from "./lifecycle/stop.ts"
import { type SettleOptions, waitUntilSettled } from "./lifecycle/wait-for-run.ts"
import { ActivityTracker } from "./limits/activity-tracker.ts"
import { loadLimits } from "./limits/effective-limits.ts"
import type { IdleRun } from "./limits/idle-rule.ts"
import { readLogs } from "./logs/logs.ts"
import { probe } from "./readiness/probe.ts"
import { ProbeLimiter } from "./readiness/probe-limiter.ts"
import { StartingPrograms } from "./readiness/starting-programs.ts"
import { type CachedRun, RunCache } from "./run-cache.ts"
import { type RunSettingsOptions, resolveRunSettings } from "./settings.ts"
import type { StorageMeter } from "./storage/storage-meter.ts"
import type { StorageQuotas } from "./storage/storage-quotas.ts"
import { IdleQuestions } from "./supervision/idle-questions.ts"
import { RowFollower } from "./supervision/row-follower.ts"
import { type SupervisionOptions, SupervisorElection } from "./supervision/supervisor-election.ts"
import { MemoryWarnings } from "./usage/memory-warnings.ts"
import { type RunUsage, readRunUsage } from "./usage/run-usage.ts"
import { minStepMs, type UsageRange } from "./usage/usage-file.ts"
import type { UsageSample } from "./usage/usage-sample.ts"
import { UsageStore } from "./usage/usage-store.ts"

export interface RunsOptions {
  store: Store
  engine: Engine
  /** Default: the system's. */
  clock?: Clock
  logger?: Logger
  events?: Partial<RunEvents>
  settings?: RunSettingsOptions
  /**
   * The image policy for a run's person, called at each attempt to start it. Default: no
   * credentials, and local images only if registered by an administrator.
   */
  imagePolicy?: (run: RunRow) => Promise<ImagePolicy>
  onImageUse?: (digest: string) => void
  /**
   * Makes missing mount sources while the run is `pulling`, at each attempt. An `EngineError`
   * becomes the run's reason. Default: nothing.
   */
  prepareDirectories?: (run: RunRow, options: PrepareOptions) => Promise<void>
  /**
   * Called with the image of each start, right before it is planned for the last time. May end the
   * trust in it.
   */
  checkTrust?: (run: RunRow, image: ImageInfo) => Promise<void>
  /**
   * Plans a run by current rights. Called when something changed that a queued run depends on, when
   * it leaves the queue, before it is prepared, and right before its mounts are made. A refusal
   * ends the run. Default: the unchanged plan.
   */
  replan?: (reads: Reads, run: RunRow) => Promise<ReplanResult>
  /** Draws the key of a new run, 32 random hexadecimal digits. Default: the system's generator. */
  newKey?: () => string
  /** Asks a program once whether it is ready. Default: by network. */
  probe?: typeof probe
  /** How processes share the supervision. Default: this one has it alone. */
  supervision?: SupervisionOptions
  /** Accounting of stored files. Default: `MaxStorage` is not enforced, and no room is reserved. */
  storage?: { quotas: StorageQuotas; meter: StorageMeter }
}

/** Options of what a request asks for. */
export interface RequestOptions {
  /** Makes the changes of the database in turns with others of the person. Default: at once. */
  change?: Store["change"] | undefined
}

export interface StartOptions extends RequestOptions {
  idempotency?: IdempotencyKey | undefined
  /** The person who requested it, for the audit. */
  actor?: Actor | undefined
}

/** Runs, from request to end. The caller checks permissions. */
export interface Runs extends AsyncDisposable {
  /**
   * Starts to compare desired and observed state. Until then starts and stops work, but exits go
   * unnoticed, and the queue stands still.
   */
  startSupervisor(): void
  /** Whether this process supervises the runs now. */
  isLeader(): boolean
  /** The state of the supervision, in words; undefined if no other process could have it. */
  checkSupervision(): Promise<{ ok: boolean; msg: string } | undefined>

  /**
   * Stores the desired state and starts the run. Resolves with the run as it then is. A start that
   * cannot work is a run in state `failed` with its reason, not an exception. Only a second live
   * run of the same person and project (`AlreadyRunningError`) and an idempotency key with another
   * body (`conflict`) make no run. A repeated key returns its run as it is now.
   */
  start(request: StartRequest, options?: StartOptions): Promise<RunRow>

  /**
   * The run that the person's start with this key made, as it is now; undefined without one.
   * Rejects as `start` does.
   */
  findByIdempotencyKey(userId: number, idempotency: IdempotencyKey): Promise<RunRow | undefined>

  /**
   * The outcome of a start at this moment, decided as `start` does, with its queue position and
   * what it waits for if it has to wait. Stores nothing. Rejects with `AlreadyRunningError`.
   */
  preview(request: StartRequest): Promise<StartPreview>

  /**
   * Resolves when the run is `ready` or has ended, or is still `queued` after `queuedMs`; also when
   * it is `stopping` and the engine prevents its end. Rejects with `not_found`, or the signal's
   * reason.
   */
  waitUntilSettled(id: number, options?: SettleOptions): Promise<RunRow>

  /**
   * Resolves with the run when the engine has no container of it; at once when it has ended.
   * Undefined: no such run. Rejects with a `Failure` (503) when the engine cannot be reached or the
   * container does not stop; the run then stays `stopping` and is stopped as soon as possible. The
   * first reason wins.
   */
  stop(id: number, options: StopOptions): Promise<RunRow | undefined>

  /**
   * Resolves when a process that does not supervise knows the address of a run that just became
   * ready, or after a moment. Undefined: there is nothing to wait for.
   */
  untilRouted(id: number): Promise<void> | undefined
  /** A live run for the gateway, from memory. */
  target(id: number): CachedRun | undefined
  targetByKey(key: string): CachedRun | undefined
  targets(): CachedRun[]
  /**
   * The last committed row of a live run, from memory; a notice later where another process wrote
   * it.
   */
  row(id: number): RunRow | undefined

  /** Records activity of the run now. */
  markActive(id: number): void
  /** The last activity that this process knows; newer than the stored one. */
  lastActivity(id: number): number | undefined
  /**
   * The last usage samples, one every 10 s, oldest first. Empty before the run is ready and after
   * its end.
   */
  usageSamples(id: number): Promise<readonly UsageSample[]>
  /** Its usage over time and its marks, for a person; stored after the end. */
  usage(run: RunRow, range: UsageRange, readerId?: number): Promise<RunUsage>
  /**
   * Marks the run as active and writes that at once. Resolves with the run as it then is, undefined
   * when it is not `ready`.
   */
  keepAlive(id: number, actor?: Actor, options?: RequestOptions): Promise<RunRow | undefined>
  /**
   * When the run will be stopped because nobody uses it, in milliseconds since the epoch; undefined
   * before its warning.
   */
  idleEnd(id: number): number | undefined
  /**
   * The runs that an idle rule of so many minutes would end now, newest first. Ends nothing.
   * Rejects with a `Failure` (503) when the process that supervises does not answer.
   */
  findIdle(minutes: number): Promise<IdleRun[]>
  /** The progress of a start; newer than the stored one. */
  progress(id: number): Progress | null
  /** From 1; null when it is not queued. */
  queuePosition(id: number): number | null
  /** One sentence on what a queued run waits for; null when it does not wait. */
  waitsFor(id: number): string | null
  /**
   * Its output, oldest first; stored after the end. `follow` continues until the program exits.
   * Rejects with a `Failure` (503) when the engine cannot be reached.
   */
  logs(run: RunRow, options?: LogOptions): AsyncIterable<ContainerLogLine>
  /**
   * Total and free resources of the nodes, after reserve and overcommit. Rejects with an
   * `EngineError` when the engine was never reached.
   */
  nodeUsage(): Promise<NodeUsage[]>

  /** Stops the background tasks, and no run. */
  close(): Promise<void>
}

/**
 * Loads all live runs, resumes their starts and stops, and starts the background tasks;
 * `startSupervisor` compares with the engine. Rejects when the database cannot be read; an
 * unreachable engine is awaited.
 */
export async function openRuns(options: RunsOptions): Promise<Runs> {
  const closing = new AbortController()
  const ctx = createContext(options, closing.signal)
  await loadLiveRuns(ctx)
  const activity = new ActivityTracker(ctx)
  const capacity = new CapacityCache(ctx)
  const rows = new RowFollower(ctx)
  const election = new SupervisorElection(ctx, { ...options.supervision, storage: options.storage, activity, capacity, rows })
  const idleQuestions = new IdleQuestions(ctx, {
    findHere: (minutes) => election.current?.idleRule.findIdle(minutes),
    check: () => election.check(),
  })
  election.resume()
  const tasks = [activity.run(), rows.run()]
  const { runCache } = ctx
  // Thousands of runs may be queued, and putting them in order takes milliseconds.
  const previews = new HeavyWorkQueue()
  const parts: RunsParts = { ctx, capacity, election }
  const close = async () => {
    closing.abort(new DOMException("Quayside closes", "AbortError"))
    idleQuestions[Symbol.dispose]()
    await Promise.all([election[Symbol.asyncDispose](), ...tasks])
    await ctx.usageStore.flush()
  }
  return {
    startSupervisor: () => election.start(),
    isLeader: () => election.isLeader,
    checkSupervision: () => election.check(),
    start: (request, options = {}) => startRun(parts, request, options),
    findByIdempotencyKey: (userId, idempotency) => findByIdempotencyKey(ctx.store, userId, idempotency),
    preview: async (request) => {
      const input = await admissionInput(parts, request)
      return previews.run(request.userId, () => previewStart(ctx, input))
    },
    waitUntilSettled: (id, settling = {}) => waitUntilSettled(ctx, id, settling),
    stop: (id, options) => stopRun({ ctx: changingBy(ctx, options), wake: () => election.current?.supervisor.wake(id) }, id, options),
    untilRouted: (id) => election.untilRouted(id),
    target: (id) => runCache.target(id),
    targetByKey: (key) => runCache.targetByKey(key),
    targets: () => runCache.targets(),
    row: (id) => runCache.row(id),
    markActive: (id) => activity.mark(id),
    lastActivity: (id) => activity.lastActivityOf(id),
    usageSamples: (id) => loadSamples(parts, id),
    usage: (run, range, readerId = run.userId) => readRunUsage(ctx, run, range, readerId),
    keepAlive: (id, actor, options = {}) => keepAlive(changingBy(ctx, options), activity, { id, actor }),
    idleEnd: (id) => (election.current ? election.current.idleRule.endOf(id) : (runCache.row(id)?.idleEndsAt ?? undefined)),
    findIdle: (minutes) => idleQuestions.find(minutes),
    progress: (id) => election.current?.supervisor.progressOf(id) ?? null,
    queuePosition: (id) => runCache.queuePosition(id),
    waitsFor: (id) => runCache.waitsFor(id),
    logs: (run, options = {}) => readLogs(ctx, run, options),
    nodeUsage: () => nodeUsage(ctx, capacity, election.containerDevices()),
    close,
    [Symbol.asyncDispose]: close,
  }
}

async function loadLiveRuns({ store, settings, runCache }: RunsContext): Promise<void> {
  const live = await store.runs.live()
  const userIds = live.map(({ userId }) => userId)
  runCache.fairnessFacts.setGroups((await loadLimits(store, userIds, settings.defaultLimits)).groupIds)
  for (const run of live) runCache.publish(run)
}

interface RunsParts {
  ctx: RunsContext
  capacity: CapacityCache
  election: SupervisorElection
}

function createContext(options: RunsOptions, closed: AbortSignal): RunsContext {
  const events: RunEvents = {
    stateChanged: async () => {},
    requested: async () => {},
    progress: () => {},
    warning: () => {},
    ...options.events,
  }
  const settings = resolveRunSettings(options.settings ?? {})
  const { clock = systemClock, logger = silentLogger, store } = options
  const runCache = new RunCache()
  const isLive = (key: string) => runCache.targetByKey(key) !== undefined
  const usageStore = new UsageStore({ directory: settings.usageDir, clock, logger, isLive })
  const marked: RunEvents = {
    ...events,
    warning: (run, text, endsAt, kind = "warning") => {
      usageStore.mark(run, kind, text)
      events.warning(run, text, endsAt)
    },
  }
  return {
    store,
    change: (work, options) => store.change(work, options),
    assertLeader: () => {},
    engine: options.engine,
    clock,
    logger,
    events: marked,
    settings,
    runCache,
    usageStore,
    memoryWarnings: new MemoryWarnings((run, text) => marked.warning(run, text, undefined, "out_of_memory")),
    closed,
    probes: { programs: new StartingPrograms(), limiter: new ProbeLimiter() },
    startingWork: new Map(),
    pendingStops: new Map(),
    onImageUse: options.onImageUse,
    checkTrust: options.checkTrust,
    imagePolicy: options.imagePolicy ?? (async ({ spec }) => ({ verifyAccess: false, allowLocal: spec.imageByAdmin ?? false })),
    prepareDirectories: options.prepareDirectories ?? (async () => {}),
    replan: options.replan ?? (async (_, { spec }) => ({ plan: spec })),
    newKey: options.newKey ?? (() => randomBytes(16).toString("hex")),
    probe: options.probe ?? probe,
    scheduleObservation: () => {},
  }
}

function changingBy(ctx: RunsContext, { change = ctx.change }: RequestOptions): RunsContext {
  return { ...ctx, change }
}

async function startRun(parts: RunsParts, request: StartRequest, { idempotency, actor, ...options }: StartOptions): Promise<RunRow> {
  const onAdmitted = (run: RunRow) => parts.election.current?.supervisor.markNew(run)
  return admit(changingBy(parts.ctx, options), { ...(await admissionInput(parts, request)), idempotency, actor, onAdmitted })
}

async function admissionInput({ capacity, election }: RunsParts, request: StartRequest): Promise<AdmissionInput> {
  const nodes = await capacity.nodes().catch((error: unknown) => {
    if (error instanceof EngineError) return error
    return new EngineError("engine_unreachable", reasonMessages.engine_unreachable, { cause: error })
  })
  return { request, nodes, containerDevices: election.containerDevices() }
}

/** The process that supervises stores the samples that it takes. */
async function loadSamples({ ctx, election }: RunsParts, id: number): Promise<readonly UsageSample[]> {
  if (election.current) return election.current.usage.loadSamplesOf(id)
  const run = ctx.runCache.row(id)
  if (run?.state !== "ready") return []
  const { settings, clock } = ctx
  const to = clock.now()
  const range = { from: to - settings.maxSamples * settings.sampleEveryMs, to, stepMs: minStepMs }
  const { points } = await ctx.usageStore.read(run, range)
  return points.map((point) => ({ ...point, memoryLimit: run.memoryMiB * 2 ** 20 }))
}

async function keepAlive(
  { runCache, clock, events, change }: RunsContext,
  activity: ActivityTracker,
  request: { id: number; actor: Actor | undefined },
) {
  const { id, actor } = request
  activity.mark(id)
  return change(async (tx) => {
    const run = await tx.runs.transition(runCache.row(id) ?? id, ["ready"], { lastActivity: clock.now(), idleEndsAt: null })
    if (run && actor) await events.requested(tx, { actor, verb: "keep", run })
    if (run) tx.afterCommit(() => runCache.publish(run))
    return run
  })
}
