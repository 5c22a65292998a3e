import { canTransition, isLive, type Reason, type RunState } from "#contract"
import type { RunAddress } from "#engine"
import type { Change, RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { createReason } from "./reasons.ts"

type Fields = Partial<Omit<RunRow, "id" | "key" | "userName" | "state">>
type TransitionContext = Pick<RunsContext, "change" | "events" | "runCache">

export interface Transition {
  /** The states to pass in one transaction; those that the run has already passed are skipped. */
  path: readonly RunState[]
  /** The states from which it may begin. Default: all that the path allows. */
  from?: readonly RunState[]
  /** Set together with the last state. */
  fields?: Fields
  /** The run's address, published together with the new state. */
  address?: RunAddress
  /**
   * Whether the fields are also set when the run is already at the path's end. Never for an end,
   * whose first cause wins.
   */
  updatesAtEnd?: boolean
}

/**
 * Moves a run along a path. Undefined, without any change, when the states do not allow it (any
 * more).
 */
export function transition(ctx: TransitionContext, id: number, step: Transition): Promise<RunRow | undefined> {
  return ctx.change((tx) => transitionInTransaction(ctx, tx, { id, ...step }), { urgent: isEnd(step) })
}

/** Ends of runs make room on a full disk. */
function isEnd({ path }: Transition): boolean {
  return path.some((state) => state === "stopping" || !isLive(state))
}

export async function transitionInTransaction(
  ctx: TransitionContext,
  tx: Change,
  step: Transition & { id: number },
): Promise<RunRow | undefined> {
  // Usually nobody has changed the row since it was published, and it need not be read.
  const known = ctx.runCache.row(step.id)
  const advanced = known && (await advance(ctx, tx, { current: known, step }))
  if (advanced) return advanced
  const current = await tx.runs.get(step.id)
  const updated = current && (await advance(ctx, tx, { current, step }))
  // The answer of an earlier COMMIT may have been lost: the cache learns of the row.
  if (!updated) tx.afterCommit(() => publishStored(ctx, step.id, current))
  return updated
}

/** Undefined, without any change, if the row is not `current`, or its state does not allow it. */
async function advance(
  ctx: TransitionContext,
  tx: Change,
  { current, step }: { current: RunRow; step: Transition },
): Promise<RunRow | undefined> {
  if (step.from?.includes(current.state) === false) return undefined
  const remaining = remainingStates(current.state, step.path)
  if (!remaining || (remaining.length === 0 && !step.updatesAtEnd)) return undefined
  const last = remaining.at(-1)
  const updated = await tx.runs.update(current, last ? { progress: null, ...step.fields, state: last } : (step.fields ?? {}))
  if (!updated) return undefined
  const passed = remaining.map((state) => (state === last ? updated : { ...current, progress: null, state }))
  await Promise.all(passed.map((run, n) => ctx.events.stateChanged(tx, run, passed[n - 1] ?? current)))
  tx.afterCommit(() => ctx.runCache.publish(updated, step.address))
  return updated
}

/**
 * Tells the cache what the database has. A run without a row ended so long ago that the history was
 * pruned; why it ended is no longer known.
 */
export function publishStored({ runCache }: Pick<RunsContext, "runCache">, id: number, stored: RunRow | undefined): void {
  const known = runCache.row(id)
  if (stored) runCache.publish(stored)
  else if (known)
    runCache.publish({ ...known, state: "ended", wanted: "stop", version: known.version + 1, reason: known.reason ?? createReason("lost") })
}

/** The remaining path; undefined when the states do not allow it. */
function remainingStates(from: RunState, path: readonly RunState[]): RunState[] | undefined {
  const remaining = path.slice(path.indexOf(from) + 1)
  const allowed = remaining.every((state, n) => canTransition(remaining[n - 1] ?? from, state))
  return allowed ? remaining : undefined
}

/**
 * Stops requested by a person or by a rule of one: not failures, even if the run never was ready.
 */
const requestedStopCodes = [
  "stopped_by_user",
  "stopped_by_admin",
  "access_withdrawn",
  "idle",
  "max_time",
] as const satisfies Reason["code"][]
export type RequestedStopCode = (typeof requestedStopCodes)[number]

/** The final state of a `stopping` run once the engine has no container of it. */
export function endStateOf(run: RunRow): "ended" | "failed" {
  const isRequested = run.reason !== null && (requestedStopCodes as readonly string[]).includes(run.reason.code)
  return isRequested || run.readyTime !== null ? "ended" : "failed"
}
