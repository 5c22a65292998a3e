import type { Reason } from "../codes.ts"
import { type Answer, integer, oneOf, shaped, text, time } from "../schema.ts"
import { type Progress, runStateNames } from "../states.ts"
import { userName } from "./common.ts"
import { type Project, reference, referenceSchema } from "./project.ts"

const computed = "never" as const
const amount = (doc: string) => integer({ doc: `${doc} 0 or absent means the default.`, max: 2 ** 31 - 1 })
/** May be bytes; how much there can be is asked for once the unit is known. */
const memory = (doc: string) => integer({ doc: `${doc} 0 or absent means the default.` })
const position = integer({ doc: "", min: 1 })
const names = (doc: string) => shaped<string[]>({ doc, schema: { type: "array", items: { type: "string" } } })

/** RunningProject: a started instance of a project. */
export const runningProjectFields = {
  ID: integer({ doc: "Primary key of the run.", write: computed }),
  Project: shaped<Project | { ID: number } | number>({
    doc: "The project being run; in a body only its `ID` counts.",
    write: "optional",
    schema: { $ref: "#/components/schemas/ProjectModel" },
    bodySchema: referenceSchema,
    parse: reference,
  }),
  ProjectID: integer({ doc: "The project's ID. A body may name the project here or in `Project`." }),
  StartTime: time({ doc: "When it left the queue; null before.", nullable: true }),
  UserName: userName,
  Nodes: amount("Node count."),
  Cpus: amount("CPU count."),
  Memory: memory("Memory, in the unit that the setting `memoryUnit` names (MiB by default)."),
  Gpus: amount("GPU count."),
  GpuMemory: memory("Memory of each GPU, in the same unit as `Memory`."),
  URL: text({ doc: "Address of the program; empty until the run is `ready`. May be left empty in a body.", write: computed }),
  ControlURL: text({ doc: "Address of the local client's channel; empty until it exists.", write: computed }),
  State: oneOf({ doc: "Where it is in its life.", values: runStateNames, write: computed }),
  Reason: shaped<Reason | null>({
    doc: "Why it ended or failed: a code from a closed list and one plain sentence.",
    schema: {
      type: ["object", "null"],
      properties: { code: { type: "string" }, msg: { type: "string" }, exitCode: { type: "integer" }, logTail: { type: "string" } },
      required: ["code", "msg"],
    },
  }),
  QueuePosition: {
    ...shaped<number | null>({
      doc: "From 1 while it is queued, else null.",
      schema: { type: ["integer", "null"], minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    }),
    fromQuery: position.fromQuery,
  },
  Progress: shaped<Progress | null>({
    doc: "What the start is doing.",
    schema: {
      type: ["object", "null"],
      properties: {
        step: { type: "string" },
        current: { type: "integer" },
        total: { type: ["integer", "null"] },
        unit: { type: "string" },
      },
      required: ["step", "current", "total", "unit"],
    },
  }),
  ReadyTime: time({ doc: "When its program first answered.", nullable: true }),
  EndTime: time({ doc: "When it was over.", nullable: true }),
  LastActivity: time({ doc: "When it was last used.", nullable: true }),
  ExpiresAt: time({ doc: "When it will be stopped by its longest allowed time.", nullable: true }),
  NodeNames: names("Where it runs."),
  GpuDevices: names("The GPUs that it holds."),
  ImageDigest: text({ doc: "Digest of the image that runs.", write: computed }),
}

export type RunningProject = Omit<Answer<typeof runningProjectFields>, "Project"> & { Project: Project | { ID: number } }
