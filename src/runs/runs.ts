import { type Progress, reasonSentences } from "#contract"
import { type Engine, EngineError, type ImagePolicy, type LogLine, type LogOptions } from "#engine"
import type { Actor } from "#events"
import { type Clock, type Logger, silentLogger, systemClock } from "#kit"
import type { Reads, RunRow, Store } from "#store"
import { Activity } from "./activity.ts"
import { Board, type RunTarget } from "./board.ts"
import { capacityNow, type NodeNow } from "./capacity.ts"
import type { Context, Preparing, Revised, RunEvents } from "./context.ts"
import { type Decision, decide } from "./decide.ts"
import { pruneHistory } from "./history.ts"
import { readLogs, sweepLogs } from "./logs.ts"
import { ProbeTurns } from "./probe-turns.ts"
import { positionOfNew } from "./queue.ts"
import { watchQueuedRights } from "./queued-rights.ts"
import type { Idempotency, Judged, StartRequest } from "./requests.ts"
import { type GivenRunSettings, withDefaults } from "./settings.ts"
import { admit, recall } from "./start.ts"
import { type StopOptions, stop } from "./stop.ts"
import type { StorageBook } from "./storage-book.ts"
import { StorageEnforcer } from "./storage-enforcer.ts"
import type { StorageMeter } from "./storage-meter.ts"
import { Supervisor } from "./supervisor.ts"
import { type Sample, Usage } from "./usage.ts"
import { type Settling, settled } from "./waits.ts"
import { Warden } from "./warden.ts"

export interface RunsOptions {
  store: Store
  engine: Engine
  /** Default: the system's. */
  clock?: Clock
  logger?: Logger
  events?: Partial<RunEvents>
  settings?: GivenRunSettings
  /**
   * On what terms a run's person may have its image, asked at each attempt to start it. Default:
   * without credentials, and built here only where an administrator registered it.
   */
  imagePolicy?: (run: RunRow) => Promise<ImagePolicy>
  /**
   * Makes what a run mounts and is not there yet, while it is `pulling`, at each attempt to start
   * it. An `EngineError` is the run's reason. Default: nothing.
   */
  prepare?: (run: RunRow, how: Preparing) => Promise<void>
  /**
   * A run's plan by the rights of now: asked when something changed that a queued run depends on,
   * when it leaves the queue, before it is prepared, and right before its mounts are made. A
   * refusal ends the run. Default: the plan that it has.
   */
  revise?: (reads: Reads, run: RunRow) => Promise<Revised>
  /** What people store. Default: nobody is held to `MaxStorage`, and no room is kept. */
  storage?: { book: StorageBook; meter: StorageMeter }
}

export interface StartOptions {
  idempotency?: Idempotency | undefined
  /** Who asked, for the audit. */
  actor?: Actor | undefined
}

/** Runs, from the wish to the end. Nothing here asks who may: that is the caller's duty. */
export interface Runs extends AsyncDisposable {
  /**
   * Begins to compare with the engine what is wanted. Until then starts and stops are done, but
   * what happens by itself is not noticed, and the queue stands.
   */
  begin(): void

  /**
   * Stores the wish, resolves with the run as it then stands, and sees to it. What cannot be is a
   * run in state `failed` with its reason, not an exception; only a second live run of the same
   * person and project (`AlreadyRunning`) and an idempotency key with another body (`conflict`)
   * make no run. A repeated key gives its run as it now stands.
   */
  start(request: StartRequest, options?: StartOptions): Promise<RunRow>

  /**
   * The run that a start of the person under this key made, as it now stands; undefined when none
   * did. Rejects as `start` does.
   */
  repeated(userId: number, idempotency: Idempotency): Promise<RunRow | undefined>

  /**
   * What would become of a start that came now, judged as `start` judges it, and its position in
   * the queue should it wait; nothing is stored. Rejects with `AlreadyRunning`.
   */
  preview(request: StartRequest): Promise<Decision & { position: number }>

  /**
   * Resolves when the run is `ready` or over, or still `queued` after `queuedMs`; also when it is
   * `stopping` and the engine keeps it from being over. Rejects with `not_found`, or the signal's
   * reason.
   */
  settled(id: number, options?: Settling): Promise<RunRow>

  /**
   * Resolves with the run when the engine holds nothing of it; at once when it is over. Undefined:
   * no such run. Rejects with a `Failure` (503) when the engine cannot be reached or the container
   * does not go; the run then stays `stopping` and is stopped as soon as possible. Its first reason
   * is kept.
   */
  stop(id: number, options: StopOptions): Promise<RunRow | undefined>

  /** A live run as the gateway needs it, from memory. */
  target(id: number): RunTarget | undefined
  targetByKey(key: string): RunTarget | undefined
  live(): RunTarget[]
  /**
   * The last committed row of a live run, from memory; at most `observeEvery` old where another
   * process wrote it.
   */
  row(id: number): RunRow | undefined

  /** The run was used just now. */
  active(id: number): void
  /** When it was last used, as far as this process saw; newer than what is stored. */
  lastActivity(id: number): number | undefined
  /**
   * What it used, oldest first: every 10 s for an hour. Empty when it is not ready yet, or over.
   */
  usage(id: number): Promise<readonly Sample[]>
  /**
   * As if the run had been used just now, written at once; resolves with the run as it then stands,
   * undefined when it is not `ready`.
   */
  keep(id: number, actor?: Actor): Promise<RunRow | undefined>
  /** How far the present step of a start is; newer than what is stored. */
  progress(id: number): Progress | null
  /** From 1; null when it does not wait. */
  queuePosition(id: number): number | null
  /**
   * Its output, oldest first; kept after the end. `follow` goes on until the program ends. Rejects
   * with a `Failure` (503) when the engine cannot be asked.
   */
  logs(run: RunRow, options?: LogOptions): AsyncIterable<LogLine>
  /**
   * What the nodes have and have left, after reserve and overcommit. Rejects with an `EngineError`
   * when the engine was never reached.
   */
  capacityNow(): Promise<NodeNow[]>

  /** Stops watching over runs, and no run. */
  close(): Promise<void>
}

/**
 * Takes up all live runs; `begin` watches over them until closed. Rejects when the database cannot
 * be read; an engine that cannot be reached is waited for.
 */
export async function createRuns(options: RunsOptions): Promise<Runs> {
  const closing = new AbortController()
  const { ctx, supervisor } = assemble(options, closing.signal)
  for (const run of await ctx.store.runs.live()) ctx.board.publish(run)
  const activity = new Activity(ctx)
  const usage = new Usage(ctx, activity)
  const chores = [
    activity.run(),
    sweepLogs(ctx),
    pruneHistory(ctx),
    watchQueuedRights(ctx),
    watchOver(ctx, usage, new Warden(ctx, { usage, activity })),
  ]
  if (options.storage) chores.push(new StorageEnforcer(ctx, { ...options.storage, usage }).run())
  const { board } = ctx
  const close = async () => {
    closing.abort(new DOMException("Quayside closes", "AbortError"))
    await Promise.all([supervisor.end(), ...chores])
  }
  return {
    begin: () => supervisor.begin(),
    start: (request, options = {}) => start({ ctx, supervisor }, request, options),
    repeated: (userId, idempotency) => recall(ctx.store, userId, idempotency),
    preview: async (request) => ({
      ...(await decide(ctx, ctx.store, await judged(supervisor, request))),
      position: positionOfNew(board, request.userId, ctx.clock.now()),
    }),
    settled: (id, settling = {}) => settled(ctx, id, settling),
    stop: (id, wish) => stop({ ctx, supervisor }, id, wish),
    target: (id) => board.target(id),
    targetByKey: (key) => board.targetByKey(key),
    live: () => board.targets(),
    row: (id) => board.row(id),
    active: (id) => activity.mark(id),
    lastActivity: (id) => activity.lastOf(id),
    usage: (id) => usage.known(id),
    keep: (id, actor) => keep(ctx, activity, { id, actor }),
    progress: (id) => supervisor.progressOf(id),
    queuePosition: (id) => board.queuePosition(id),
    logs: (run, options = {}) => readLogs(ctx, run, options),
    capacityNow: () => capacityNow(ctx, supervisor.capacity, supervisor.takenDevices()),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Parts {
  ctx: Context
  supervisor: Supervisor
}

function assemble(options: RunsOptions, closed: AbortSignal): Parts {
  const events: RunEvents = {
    stateChanged: async () => {},
    asked: async () => {},
    progress: () => {},
    warning: () => {},
    ...options.events,
  }
  const ctx: Context = {
    store: options.store,
    engine: options.engine,
    clock: options.clock ?? systemClock,
    logger: options.logger ?? silentLogger,
    events,
    settings: withDefaults(options.settings ?? {}),
    board: new Board((run) => supervisor.published(run)),
    closed,
    probing: { count: 0, turns: new ProbeTurns() },
    wished: new Map(),
    imagePolicy: options.imagePolicy ?? (async ({ spec }) => ({ verifyAccess: false, allowLocal: spec.imageByAdmin ?? false })),
    prepare: options.prepare ?? (async () => {}),
    revise: options.revise ?? (async (_, { spec }) => ({ plan: spec })),
    observeSoon: () => supervisor.observeSoon(),
  }
  const supervisor: Supervisor = new Supervisor(ctx)
  return { ctx, supervisor }
}

async function start({ ctx, supervisor }: Parts, request: StartRequest, { idempotency, actor }: StartOptions): Promise<RunRow> {
  const fresh = (run: RunRow) => supervisor.isFresh(run)
  return admit(ctx, { ...(await judged(supervisor, request)), idempotency, actor, fresh })
}

async function judged(supervisor: Supervisor, request: StartRequest): Promise<Judged> {
  const nodes = await supervisor.capacity.nodes().catch((error: unknown) => {
    if (error instanceof EngineError) return error
    return new EngineError("engine_unreachable", reasonSentences.engine_unreachable, { cause: error })
  })
  return { request, nodes, takenDevices: supervisor.takenDevices() }
}

async function keep({ board, clock, events, store }: Context, activity: Activity, asked: { id: number; actor: Actor | undefined }) {
  const { id, actor } = asked
  activity.mark(id)
  return store.change(async (tx) => {
    const run = await tx.runs.move(id, ["ready"], { lastActivity: clock.now() })
    if (run && actor) await events.asked(tx, { actor, verb: "keep", run })
    if (run) tx.afterCommit(() => board.publish(run))
    return run
  })
}

/**
 * Looks at what runs use and holds them to their limits, until Quayside closes. What cannot be
 * looked at is not judged by.
 */
async function watchOver({ clock, closed, logger, settings }: Context, usage: Usage, warden: Warden): Promise<void> {
  const attempt = async (what: string, work: () => Promise<void>) => {
    if (!closed.aborted) await work().catch((err: unknown) => closed.aborted || logger.warn({ err }, what))
  }
  const pause = () => clock.sleep(settings.sampleEvery, closed).catch(() => {})
  await pause()
  while (!closed.aborted) {
    await attempt("what runs use was not looked at", () => usage.sample())
    const paused = pause()
    // What a look tells is not left until the next sample, nor is a long one waited for.
    await Promise.race([usage.looked(), paused])
    await attempt("runs were not held to their limits", () => warden.judge())
    await paused
  }
}
