import { bounds } from "../bounds/index.ts"
import type { AnswerValues } from "../fields/field.ts"
import { integer, nullableTimestamp, oneOf } from "../fields/scalars.ts"
import { custom, list, nullable } from "../fields/shapes.ts"
import { idOnlySchema, refTo, structure } from "../fields/structure.ts"
import { text } from "../fields/text.ts"
import { runStateNames } from "../states.ts"
import { userNameField } from "./common.ts"
import { type Project, projectModel, reference, referenceSchema } from "./project.ts"
import { progress, reason, waitsForField } from "./run-parts.ts"

const computed = "never" as const
const amount = (description: string, max = 2 ** 31 - 1) => integer({ description: `${description} 0 or absent means the default.`, max })
/** May be bytes: the maximum is checked once the unit is known. */
const memory = (description: string) => integer({ description: `${description} 0 or absent means the default.` })
const position = integer({ min: 1 })
const names = (description: string) => list(text({}), description)

/** RunningProject: a started instance of a project. */
export const runningProjectFields = {
  ID: integer({ description: "Primary key of the run.", write: computed }),
  Project: custom<number | undefined, Project | { ID: number }>({
    description: "The project being run; in a body only its `ID` counts.",
    write: "optional",
    schema: { anyOf: [refTo(projectModel), idOnlySchema] },
    bodySchema: referenceSchema,
    parse: reference,
  }),
  ProjectID: integer({ description: "The project's ID. A body may name the project here or in `Project`." }),
  StartTime: nullableTimestamp({ description: "When it left the queue; null before." }),
  UserName: userNameField,
  Nodes: amount("Node count.", bounds.runs.nodes.value),
  Cpus: amount("CPU count."),
  Memory: memory("Memory, in the unit that the setting `memoryUnit` names (MiB by default)."),
  Gpus: amount("GPU count."),
  GpuMemory: memory("Memory of each GPU, in the same unit as `Memory`."),
  URL: text({ description: "Address of the program; empty until the run is `ready`. May be left empty in a body.", write: computed }),
  ControlURL: text({
    description: "Address of the control channel for people who may control the run while it is `starting` or `ready`; else empty.",
    write: computed,
  }),
  Home: text({
    description: "The directory at `UserPath`: the person's home, or one of the project's own. Empty in lists if the run's plan is long.",
    write: computed,
  }),
  HomeReason: text({ description: "Why `Home` is not the person's home, or empty.", write: computed }),
  State: oneOf({ description: "The state of its life cycle.", values: runStateNames, write: computed }),
  Reason: nullable(reason, "Why it ended or failed: a code from a closed list and one plain sentence."),
  QueuePosition: { ...nullable(position, "From 1 while it is queued, otherwise null."), fromQuery: position.fromQuery },
  WaitsFor: waitsForField("waits"),
  Progress: nullable(progress, "The current step of the start."),
  ReadyTime: nullableTimestamp({ description: "When its program first answered." }),
  EndTime: nullableTimestamp({ description: "When it was over." }),
  LastActivity: nullableTimestamp({ description: "When it was last used." }),
  ExpiresAt: nullableTimestamp({ description: "When it will be stopped by its longest allowed time." }),
  IdleExpiresAt: nullableTimestamp({
    description: "When it will be stopped because nobody uses it; null before its warning, and again once somebody uses it.",
  }),
  NodeNames: names("Where it runs."),
  GpuDevices: names("The GPUs that it holds."),
  ImageDigest: text({ description: "Digest of the image that runs.", write: computed }),
  RegistryDigest: text({
    description: "Digest by which the image's registry provides it, for a reference `repo/name@sha256:…`; empty if it was built here.",
    write: computed,
  }),
}

export type RunningProject = AnswerValues<typeof runningProjectFields>
export const runningProject = structure("RunningProject", runningProjectFields)

/** A run that an idle rule would end. */
export const idleRun = structure("IdleRun", {
  ID: integer({ description: "The run." }),
  ProjectID: integer({ description: "Its project." }),
  UserName: text({ description: "The person who started it." }),
  LastActivity: nullableTimestamp({ description: "When it was last used; null if it never was." }),
  IdleMinutes: integer({ description: "Whole minutes without use that an idle rule counts." }),
})
