import { integer, oneOf, timestamp } from "../fields/scalars.ts"
import { list, nullable, number, object, optional } from "../fields/shapes.ts"
import { type StructureValue, structure } from "../fields/structure.ts"
import { text } from "../fields/text.ts"

const amount = (description: string) => nullable(number({ min: 0 }), description)
const bytesSinceStart = nullable(integer({}), "Bytes since the start.")

/** The usage of a run at one time. Unknown values are null. */
const usage = object({
  Time: timestamp({}),
  Cpus: amount("How many CPUs were busy for it on average since the figures before."),
  Memory: amount("In the unit of the run's `Memory`, cached files not counted."),
  MemoryPeak: amount("The most of `Memory` in the step."),
  MemoryLimit: amount("Limit of `Memory`."),
  GpuMemory: amount("On all of its GPUs together, in the unit of `Memory`."),
  GpuBusy: amount("From 0 to 1, the mean of its GPUs."),
  NetworkIn: bytesSinceStart,
  NetworkOut: bytesSinceStart,
  Disk: amount(
    "Written to its own file system, mounted directories not counted, in the unit of `Memory`; looked at once a minute, or sooner.",
  ),
})

const mark = object({
  Time: timestamp({}),
  Kind: oneOf({
    description: "`exit` is the run's end; after a `restart`, of the container or of Quayside, there may be a gap.",
    values: ["out_of_memory", "exit", "warning", "restart"],
  }),
  Text: text({ description: "One sentence." }),
})

export const runStats = structure("RunStats", {
  now: usage,
  series: list(
    usage,
    "Oldest first. `Time` is the start of a step, without an entry if nothing is known of it; amounts are averages, traffic and `Disk` the last figures of the step.",
  ),
  marks: list(mark, "Events in the time of the series, oldest first."),
})
export type RunStats = StructureValue<typeof runStats>

/** One line of a run's output. */
export const logLine = structure("LogLine", {
  time: timestamp({ description: "When it was printed." }),
  stream: oneOf({ description: "Where it was printed.", values: ["stdout", "stderr"] }),
  text: text({ description: "The line, without its end." }),
  rank: optional(integer({}), "Of a run on several nodes: the rank that printed it."),
})
export type LogLine = StructureValue<typeof logLine>
