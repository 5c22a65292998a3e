import type { RunState } from "#contract"

const startSteps = ["queued", "pulling", "creating", "starting", "ready"] as const
export type StartStep = (typeof startSteps)[number]
export type StepState = "done" | "current" | "ahead"

/** The steps of a start as they stand in a state. A run that is ready has done them all. */
export function stepsOf(state: RunState): { step: StartStep; state: StepState }[] {
  const at = startSteps.indexOf(state as StartStep)
  const stateOf = (i: number): StepState => (i < at || state === "ready" ? "done" : i === at ? "current" : "ahead")
  return startSteps.map((step, i) => ({ step, state: stateOf(i) }))
}
