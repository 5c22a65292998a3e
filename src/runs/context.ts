import type { Progress, Reason } from "#contract"
import type { Engine, ImagePolicy } from "#engine"
import type { Actor } from "#events"
import type { Clock, Logger } from "#kit"
import type { Change, Reads, RunPlan, RunRow, Store } from "#store"
import type { ProbeLimiter } from "./readiness/probe-limiter.ts"
import type { RunCache } from "./run-cache.ts"
import type { RunSettings } from "./settings.ts"

/** What happens to runs, told to the rest of the program. */
export interface RunEvents {
  /**
   * Inside the transaction that changes the run, so that its journal and audit rows belong to it;
   * `before` is undefined for a new run. Must be quick and wait for nothing but `tx`.
   */
  stateChanged(tx: Change, run: RunRow, before: RunRow | undefined): Promise<void>
  /**
   * Inside the same transaction: a person asked for a start, a stop or more time, for the audit.
   * Not told for what Quayside does by itself.
   */
  requested(tx: Change, what: { actor: Actor; verb: "start" | "stop" | "keep"; run: RunRow }): Promise<void>
  /** At most every 500 ms for each run, while it is being started. Must not throw. */
  progress(run: RunRow, progress: Progress): void
  /** Something that people should know and that changed no state. Must not throw. */
  warning(run: RunRow, text: string): void
}

/** How something is prepared for a run. */
export interface PrepareOptions {
  report(progress: Progress): void
  /**
   * Aborted when the run is to stop: what was begun is taken back, and the promise settles then.
   */
  signal: AbortSignal
}

/** A run's plan by the rights of now, or why the run must end. */
export type ReplanResult = { plan: RunPlan } | { refusal: Reason }

/** Why a person wants a run to be stopped, and who, for the audit. */
export interface StopRequest {
  reason: Reason
  actor: Actor | undefined
}

/** What all parts of this folder share. */
export interface RunsContext {
  readonly store: Store
  readonly engine: Engine
  readonly clock: Clock
  readonly logger: Logger
  readonly events: RunEvents
  readonly settings: RunSettings
  readonly runCache: RunCache
  /** Aborted by `close`. */
  readonly closed: AbortSignal
  /** How many programs are being asked whether they are ready. */
  readonly probes: { count: number; turns: ProbeLimiter }
  /**
   * Stops that were asked for and carried out while the database could not take them, by the run's
   * ID.
   */
  readonly pendingStops: Map<number, StopRequest>
  /** On what terms the run's person may have its image now. */
  imagePolicy(run: RunRow): Promise<ImagePolicy>
  /**
   * Plans a run that waits anew, and judges the plan of one that is being started, by what these
   * reads tell.
   */
  replan(reads: Reads, run: RunRow): Promise<ReplanResult>
  /**
   * Makes what the run mounts and is not there yet, before the engine is asked to start it; again
   * at each attempt.
   */
  prepare(run: RunRow, how: PrepareOptions): Promise<void>
  /** Asks for a look at the engine soon. */
  scheduleObservation(): void
}
