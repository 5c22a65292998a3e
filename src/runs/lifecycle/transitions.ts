import { canTransition, isLive, type Reason, type RunState } from "#contract"
import type { Address } from "#engine"
import type { Change, RunRow } from "#store"
import type { RunsContext } from "../context.ts"

type Fields = Partial<Omit<RunRow, "id" | "key" | "userName" | "state">>
type TransitionContext = Pick<RunsContext, "store" | "events" | "runCache">

export interface Transition {
  /** The states to pass in one transaction; those that the run has already passed are skipped. */
  path: readonly RunState[]
  /** Set together with the last state. */
  fields?: Fields
  /** The run's address, published together with the new state. */
  address?: Address
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
  return ctx.store.change((tx) => transitionInTransaction(ctx, tx, { id, ...step }), { urgent: isEnd(step) })
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
  const now = await tx.runs.get(step.id)
  const ahead = now && remainingStates(now.state, step.path)
  if (!now || !ahead) return undefined
  const arrived = ahead.length === 0
  if (arrived && !step.updatesAtEnd) return undefined
  const moved = arrived
    ? await tx.runs.transition(now.id, [now.state], step.fields ?? {})
    : await enterStates(ctx, tx, { now, ahead, step })
  if (moved) tx.afterCommit(() => ctx.runCache.publish(moved, step.address))
  return moved
}

/** The remaining path; undefined when the states do not allow it. */
function remainingStates(from: RunState, path: readonly RunState[]): RunState[] | undefined {
  const ahead = path.slice(path.indexOf(from) + 1)
  const allowed = ahead.every((state, n) => canTransition(ahead[n - 1] ?? from, state))
  return allowed ? ahead : undefined
}

async function enterStates(
  ctx: TransitionContext,
  tx: Change,
  way: { now: RunRow; ahead: RunState[]; step: Transition },
): Promise<RunRow | undefined> {
  let run: RunRow | undefined = way.now
  for (const state of way.ahead) {
    const before: RunRow = run
    const fields = state === way.ahead.at(-1) ? way.step.fields : {}
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
