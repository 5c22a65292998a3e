import type { Progress, Reason, RunState } from "#contract"
import { copiedName, generatedId, integer, json, nullableInteger, oneOf, text } from "./column.ts"
import { pickFields, type RowOf, rowMapper } from "./row-mapper.ts"
import type { RunPlan } from "./run-plan.ts"
import { describeTable } from "./table.ts"

export const runsTable = describeTable({
  name: "runs",
  resourceType: "run",
  fields: {
    id: generatedId(),
    /** 32 hexadecimal digits, never used again. */
    key: text("key", { written: "once" }),
    projectId: integer("project_id"),
    userId: integer("user_id"),
    userName: copiedName("user_name"),
    state: oneOf<RunState>()("state"),
    /** The desired state, which is compared with what the engine reports again and again. */
    wanted: oneOf<"run" | "stop">()("wanted"),
    reason: json<Reason | null>()("reason", { countsBytes: true }),
    progress: json<Progress | null>()("progress"),
    /**
     * The complete plan: it suffices to start the same run again. It has secrets: never answered.
     */
    spec: json<RunPlan>()("spec", { maxListedBytes: 1_024, countsBytes: false }),
    nodes: integer("nodes"),
    cpus: integer("cpus"),
    memoryMiB: integer("memory_mib"),
    gpus: integer("gpus"),
    gpuMemoryMiB: integer("gpu_memory_mib"),
    createdAt: integer("created_at", { written: "once" }),
    updatedAt: integer("updated_at"),
    version: integer("version", { written: "never" }),
    /** When it left the queue. */
    startTime: nullableInteger("start_time"),
    readyTime: nullableInteger("ready_time"),
    endTime: nullableInteger("end_time"),
    lastActivity: nullableInteger("last_activity"),
    expiresAt: nullableInteger("expires_at"),
    /** When it is stopped unless somebody uses it, once people were warned of that. */
    idleEndsAt: nullableInteger("idle_ends_at"),
    nodeNames: json<string[]>()("node_names"),
    gpuDevices: json<string[]>()("gpu_devices"),
    imageDigest: text("image_digest"),
    /** Under which the image's registry provides it; empty if none does. */
    registryDigest: text("registry_digest"),
  },
  /** The project's owner, who sees that it runs. */
  internal: { ownerId: integer("owner_id") },
})

export interface RunRow extends RowOf<typeof runsTable.fields> {}

/** The fields of a live run that admission counts, without the plan, which is long. */
export const liveRunMapper = pickFields(runsTable, [
  "id",
  "userId",
  "userName",
  "state",
  "nodes",
  "cpus",
  "memoryMiB",
  "gpus",
  "gpuMemoryMiB",
  "nodeNames",
  "gpuDevices",
  "createdAt",
  "startTime",
])

const { spec: _plan, ...shortFields } = runsTable.fields

/** All fields but the plan, which is long and seldom changes. */
export const runWithoutPlanMapper = rowMapper<Omit<RunRow, "spec">>(shortFields)

/** The fields that remain of a removed run. */
export const removedRunMapper = pickFields(runsTable, ["id", "key", "userId"])
