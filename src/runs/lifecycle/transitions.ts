import { canTransition, isLive, type Reason, type RunState } from "#contract"
import type { Address } from "#engine"
import type { Change, RunRow } from "#store"
import type { RunsContext } from "../context.ts"

type Fields = Partial<Omit<RunRow, "id" | "key" | "userName" | "state">>
type TransitionContext = Pick<RunsContext, "store" | "events" | "runCache">

export interface Transition {
  /**
   * The states to go through, one after the other, in one transaction; those that the run has
   * behind it are passed over.
   */
  path: readonly RunState[]
  /** Set with the last of them. */
  fields?: Fields
  /** Where the run is reached, told together with the new state. */
  address?: Address
  /**
   * Whether the fields are also set when the run already is at the path's end. Never for an end:
   * its first cause counts.
   */
  updatesAtEnd?: boolean
}

/**
 * Takes a run along a path. Undefined, and nothing is changed, when the table of states does not
 * allow it (any more).
 */
export function transition(ctx: TransitionContext, id: number, step: Transition): Promise<RunRow | undefined> {
  return ctx.store.change((tx) => transitionIn(ctx, tx, { id, ...step }), { urgent: isEnd(step) })
}

/** A run that ends is what gives room on a full disk. */
function isEnd({ path }: Transition): boolean {
  return path.some((state) => state === "stopping" || !isLive(state))
}

export async function transitionIn(ctx: TransitionContext, tx: Change, step: Transition & { id: number }): Promise<RunRow | undefined> {
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

/** What is left of the path, or undefined when the table does not allow it. */
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
 * Ends by what a person, or a rule that a person made, wanted: not failures, even when the run
 * never got ready.
 */
const requestedStopCodes = [
  "stopped_by_user",
  "stopped_by_admin",
  "access_withdrawn",
  "idle",
  "max_time",
] as const satisfies Reason["code"][]
export type RequestedStopCode = (typeof requestedStopCodes)[number]

/** How a run that is `stopping` is over once the engine holds nothing of it. */
export function endStateOf(run: RunRow): "ended" | "failed" {
  const pendingStops = run.reason !== null && (requestedStopCodes as readonly string[]).includes(run.reason.code)
  return pendingStops || run.readyTime !== null ? "ended" : "failed"
}
