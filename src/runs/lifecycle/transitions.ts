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
  const current = await tx.runs.get(step.id)
  const isAllowed = current !== undefined && (step.from?.includes(current.state) ?? true)
  const remaining = isAllowed ? remainingStates(current.state, step.path) : undefined
  const isAtEnd = remaining?.length === 0
  if (!current || !remaining || (isAtEnd && !step.updatesAtEnd)) {
    // The answer of an earlier COMMIT may have been lost: the cache learns of the row.
    tx.afterCommit(() => publishStored(ctx, step.id, current))
    return undefined
  }
  const updated = isAtEnd
    ? await tx.runs.transition(current.id, [current.state], step.fields ?? {})
    : await enterStates(ctx, tx, { current, remaining, step })
  if (updated) tx.afterCommit(() => ctx.runCache.publish(updated, step.address))
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

async function enterStates(
  ctx: TransitionContext,
  tx: Change,
  params: { current: RunRow; remaining: RunState[]; step: Transition },
): Promise<RunRow | undefined> {
  let run: RunRow | undefined = params.current
  for (const state of params.remaining) {
    const before: RunRow = run
    const fields = state === params.remaining.at(-1) ? params.step.fields : {}
    run = await tx.runs.transition(before.id, [before.state], { progress: null, ...fields, state })
    if (!run) return undefined
    await ctx.events.stateChanged(tx, run, before)
  }
  return run
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
