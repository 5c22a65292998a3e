/**
 * The states of a run in the order of its life, each with the states that may come next. Server,
 * web UI and docs use this one table.
 */
export const runStates = {
  queued: { next: ["pulling", "stopping", "failed"], live: true },
  pulling: { next: ["creating", "stopping", "failed"], live: true },
  creating: { next: ["starting", "stopping", "failed"], live: true },
  starting: { next: ["ready", "stopping", "failed"], live: true },
  ready: { next: ["stopping", "ended"], live: true },
  stopping: { next: ["ended", "failed"], live: true },
  ended: { next: [], live: false },
  failed: { next: [], live: false },
} as const satisfies Record<string, { next: readonly string[]; live: boolean }>

export type RunState = keyof typeof runStates
export const runStateNames = Object.keys(runStates) as RunState[]

/** Whether a run may go from one state to another. */
export function canTransition(from: RunState, to: RunState): boolean {
  return (runStates[from].next as readonly string[]).includes(to)
}

/** Whether the run still counts: it is wanted, or the engine may have its container. */
export function isLive(state: RunState): boolean {
  return runStates[state].live
}

/** The types of projects. */
export const projectTypes = ["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"] as const
export type ProjectType = (typeof projectTypes)[number]
