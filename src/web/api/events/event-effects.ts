import type { List, OperationId, RunningProject, ServerEvent } from "#contract"

/** The read operations whose answers a change of such a resource may change. */
const readsOf: Readonly<Record<string, readonly OperationId[]>> = {
  image: ["readImage", "listImages", "checkImage", "readProject", "listProjects"],
  data: ["listData", "readProject", "listProjects"],
  project: ["readProject", "listProjects"],
  run: ["readRun", "listRuns", "readCapacity", "listIdle", "previewRun"],
  user: ["listUsers", "readUser", "whoami", "listSessions"],
  group: ["listGroups", "readGroup", "whoami"],
  token: ["listTokens"],
  session: ["listSessions"],
  grant: ["listGrants"],
}

/** Events that carry all that they change: their reads are patched and not read again. */
const patchOnly = new Set(["run.progress"])

/** The operations to read again after an event; `all` after events were missed. */
export function operationsToRefetch({ event, data }: ServerEvent): readonly OperationId[] | "all" {
  if (event === "reset") return "all"
  if (event === "image.progress") return data.State === "pulling" ? [] : ["checkImage"]
  if (patchOnly.has(event)) return []
  return readsOf[event.slice(0, event.indexOf("."))] ?? []
}

/** A run as it is after an event, or the same object if the event does not concern it. */
export function patchRun(run: RunningProject, { event, data }: ServerEvent): RunningProject {
  if (data.ID !== run.ID) return run
  if (event === "run.progress") return { ...run, Progress: data.Progress ?? null }
  if (event === "run.state" && data.State !== undefined) {
    const isSame = data.State === run.State
    return { ...run, State: data.State as RunningProject["State"], Progress: isSame ? run.Progress : null }
  }
  return run
}

/** A list of runs after an event, or the same object if nothing of it changes. */
export function patchRuns(list: List<RunningProject>, event: ServerEvent): List<RunningProject> {
  const data = list.data.map((run) => patchRun(run, event))
  return data.every((run, i) => run === list.data[i]) ? list : { ...list, data }
}
