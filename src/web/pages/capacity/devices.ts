import type { Capacity, RunningProject } from "#contract"

export interface DeviceWithRun {
  node: string
  id: string
  model: string
  memory: number
  runId: number | null
  /** The run, if the list of runs has it. */
  run: RunningProject | undefined
}

/** Every device with the run that uses it, those in use first. */
export function devicesWithRuns({ nodes }: Pick<Capacity, "nodes">, runs: readonly RunningProject[]): DeviceWithRun[] {
  const byId = new Map(runs.map((run) => [run.ID, run]))
  const devices = nodes.flatMap(({ Name: node, Devices }) =>
    Devices.map(({ ID: id, Model: model, Memory: memory, RunID: runId }) => ({
      node,
      id,
      model,
      memory,
      runId,
      run: runId === null ? undefined : byId.get(runId),
    })),
  )
  return devices.toSorted((a, b) => Number(b.runId !== null) - Number(a.runId !== null))
}

export interface CapacityAmount {
  total: number
  used: number
}

/** The sums of all nodes. */
export function totalsOf({ nodes }: Pick<Capacity, "nodes">): Record<"Cpus" | "Memory" | "Gpus", CapacityAmount> {
  const sum = (name: "Cpus" | "Memory" | "Gpus") => {
    const total = nodes.reduce((all, node) => all + node[name].total, 0)
    return { total, used: total - nodes.reduce((all, node) => all + node[name].free, 0) }
  }
  return { Cpus: sum("Cpus"), Memory: sum("Memory"), Gpus: sum("Gpus") }
}
