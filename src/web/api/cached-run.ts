import type { List, RunningProject } from "#contract"
import { queryClient } from "./queries.ts"

/** Puts an action's answer into all reads of the run: not every change has an event. */
export function updateCachedRun(run: RunningProject): void {
  const replaced = (each: RunningProject) => (each.ID === run.ID ? run : each)
  queryClient.setQueriesData<RunningProject>({ queryKey: ["readRun"] }, (each) => each && replaced(each))
  queryClient.setQueriesData<List<RunningProject>>({ queryKey: ["listRuns"] }, (list) => list && { ...list, data: list.data.map(replaced) })
}
