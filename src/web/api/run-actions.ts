import type { RunState } from "#contract"

export type RunAction = "open" | "stop" | "keep" | "repeat"

/** The actions that are possible in each state of a run. Pages show these and no others. */
export const runActions: { readonly [State in RunState]: readonly RunAction[] } = {
  queued: ["stop"],
  pulling: ["stop"],
  creating: ["stop"],
  starting: ["stop"],
  ready: ["open", "stop", "keep"],
  stopping: [],
  ended: ["repeat"],
  failed: ["repeat"],
}

export function canDo(action: RunAction, { State }: { State: RunState }): boolean {
  return runActions[State].includes(action)
}

export type Tone = "good" | "busy" | "warn" | "bad" | "quiet"

/** The colour in which each state stands. */
export const stateTones: { readonly [State in RunState]: Tone } = {
  queued: "warn",
  pulling: "busy",
  creating: "busy",
  starting: "busy",
  ready: "good",
  stopping: "busy",
  ended: "quiet",
  failed: "bad",
}
