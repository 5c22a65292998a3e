import type { Progress, Reason, RunState } from "#contract"
import type { Arg, Value } from "../driver.ts"
import type { RunPlan, RunRow } from "../rows.ts"
import type { LiveRun } from "../store.ts"

export function toLiveRun(v: readonly Value[]): LiveRun {
  return {
    id: v[0] as number,
    userId: v[1] as number,
    userName: v[2] as string,
    state: v[3] as RunState,
    cpus: v[4] as number,
    memoryMiB: v[5] as number,
    gpus: v[6] as number,
    gpuMemoryMiB: v[7] as number,
    nodeNames: listOf(v[8] as string),
    gpuDevices: listOf(v[9] as string),
    createdAt: v[10] as number,
    startTime: v[11] as number | null,
  }
}

/** Queued runs have none of either: thousands of these are read at once. */
function listOf(text: string): string[] {
  return text === "[]" ? [] : (JSON.parse(text) as string[])
}

export function toRun(v: readonly Value[]): RunRow {
  return {
    id: v[0] as number,
    key: v[1] as string,
    projectId: v[2] as number,
    userId: v[3] as number,
    userName: v[4] as string,
    state: v[5] as RunState,
    wanted: v[6] as RunRow["wanted"],
    reason: v[7] === null ? null : (JSON.parse(v[7] as string) as Reason),
    progress: v[8] === null ? null : (JSON.parse(v[8] as string) as Progress),
    spec: JSON.parse(v[9] as string) as RunPlan,
    nodes: v[10] as number,
    cpus: v[11] as number,
    memoryMiB: v[12] as number,
    gpus: v[13] as number,
    gpuMemoryMiB: v[14] as number,
    createdAt: v[15] as number,
    updatedAt: v[16] as number,
    version: v[17] as number,
    startTime: v[18] as number | null,
    readyTime: v[19] as number | null,
    endTime: v[20] as number | null,
    lastActivity: v[21] as number | null,
    expiresAt: v[22] as number | null,
    nodeNames: JSON.parse(v[23] as string) as string[],
    gpuDevices: JSON.parse(v[24] as string) as string[],
    imageDigest: v[25] as string,
  }
}

export function toColumns(row: Omit<RunRow, "id" | "createdAt" | "updatedAt" | "version" | "userName">): Record<string, Arg> {
  return {
    key: row.key,
    project_id: row.projectId,
    user_id: row.userId,
    state: row.state,
    wanted: row.wanted,
    reason: row.reason && JSON.stringify(row.reason),
    progress: row.progress && JSON.stringify(row.progress),
    spec: JSON.stringify(row.spec),
    nodes: row.nodes,
    cpus: row.cpus,
    memory_mib: row.memoryMiB,
    gpus: row.gpus,
    gpu_memory_mib: row.gpuMemoryMiB,
    start_time: row.startTime,
    ready_time: row.readyTime,
    end_time: row.endTime,
    last_activity: row.lastActivity,
    expires_at: row.expiresAt,
    node_names: JSON.stringify(row.nodeNames),
    gpu_devices: JSON.stringify(row.gpuDevices),
    image_digest: row.imageDigest,
  }
}
