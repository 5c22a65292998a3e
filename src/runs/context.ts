import type { Progress, Reason } from "#contract"
import type { Engine, ImageInfo, ImagePolicy } from "#engine"
import type { Actor } from "#events"
import type { Clock, Logger } from "#kit"
import type { Change, Reads, RunPlan, RunRow, Store } from "#store"
import type { probe } from "./readiness/probe.ts"
import type { ProbeLimiter } from "./readiness/probe-limiter.ts"
import type { StartingPrograms } from "./readiness/starting-programs.ts"
import type { RunCache } from "./run-cache.ts"
import type { RunSettings } from "./settings.ts"
import type { MarkKind } from "./usage/marks.ts"
import type { MemoryWarnings } from "./usage/memory-warnings.ts"
import type { UsageStore } from "./usage/usage-store.ts"

/** Callbacks for changes of runs. */
export interface RunEvents {
  /**
   * Inside the transaction that changes the run, so that its journal and audit rows belong to it;
   * `before` is undefined for a new run. Must be quick and await only `tx`.
   */
  stateChanged(tx: Change, run: RunRow, before: RunRow | undefined): Promise<void>
  /**
   * Called inside the same transaction when a person requested a start, a stop or more time, for
   * the audit. Not called for Quayside's own actions.
   */
  requested(tx: Change, request: { actor: Actor; verb: "start" | "stop" | "keep"; run: RunRow }): Promise<void>
  /** Called at most every 500 ms for each run while it starts. Must not throw. */
  progress(run: RunRow, progress: Progress): void
  /**
   * A message for people that changes no state. `endsAt`: when the run will be stopped, in
   * milliseconds since the epoch. `kind`: of the mark beside the run's usage. Must not throw.
   */
  warning(run: RunRow, text: string, endsAt?: number, kind?: MarkKind): void
}

/** Options of `prepareDirectories`. */
export interface PrepareOptions {
  report(progress: Progress): void
  /**
   * Aborted when the run is to stop. The preparation is then undone, and the promise settles after
   * that.
   */
  signal: AbortSignal
}

/** A run's plan by current rights, or why the run must end. */
export type ReplanResult = { plan: RunPlan } | { refusal: Reason }

/** A stop with its reason, and the person who requested it, for the audit. */
export interface StopRequest {
  reason: Reason
  actor: Actor | undefined
}

/** Dependencies of all modules of this folder. */
export interface RunsContext {
  readonly store: Store
  /** A transaction. In a supervision, it is rolled back once another process has taken over. */
  readonly change: Store["change"]
  /** In a supervision, throws once another process may have taken over. */
  assertLeader(): void
  readonly engine: Engine
  readonly clock: Clock
  readonly logger: Logger
  readonly events: RunEvents
  readonly settings: RunSettings
  readonly runCache: RunCache
  /** The usage of runs over time. */
  readonly usageStore: UsageStore
  readonly memoryWarnings: MemoryWarnings
  /** Aborted by `close`. */
  readonly closed: AbortSignal
  /** Probes in progress, and the limit per person. */
  readonly probes: { programs: StartingPrograms; limiter: ProbeLimiter }
  /** When starting runs last computed or moved data, by ID. */
  readonly startingWork: Map<number, number>
  /** Stops done in the engine that the full database could not take, by run ID. */
  readonly pendingStops: Map<number, StopRequest>
  /** The policy by which the run's person may have its image now. */
  imagePolicy(run: RunRow): Promise<ImagePolicy>
  /** Called with the digest of the image of each start. */
  onImageUse?: ((digest: string) => void) | undefined
  /** Ends the trust in the image of a start if it is another one than was trusted. */
  checkTrust?: ((run: RunRow, image: ImageInfo) => Promise<void>) | undefined
  /** Plans a queued run again, and checks the plan of a starting one, by what `reads` returns. */
  replan(reads: Reads, run: RunRow): Promise<ReplanResult>
  /** Makes missing mount sources before the engine is called; repeated by each attempt. */
  prepareDirectories(run: RunRow, options: PrepareOptions): Promise<void>
  /** Draws the key of a new run. */
  newKey(): string
  /** Asks a program once whether it is ready. */
  probe: typeof probe
  /** Schedules an observation of the engine. */
  scheduleObservation(): void
}
