import { boolean, integer } from "../fields/scalars.ts"
import { list, nullable, number, object } from "../fields/shapes.ts"
import { type StructureValue, structure } from "../fields/structure.ts"
import { text } from "../fields/text.ts"
import { effectiveLimits } from "./people.ts"
import { reason, waitsForField } from "./run-parts.ts"

const share = object({ total: number(), free: number() })
const amountOrNull = nullable(number(), "null: unlimited.")

const node = object({
  Name: text({}),
  Cpus: share,
  Memory: share,
  Gpus: share,
  Devices: list(
    object({
      ID: text({}),
      Model: text({}),
      Memory: number(),
      RunID: nullable(integer({}), "The run that uses it; shown to administrators and to the run's owner."),
    }),
  ),
})

/** The resources of nodes, and what is free. Amounts of memory are in the unit of `Memory`. */
export const capacity = structure("Capacity", {
  nodes: list(node),
  you: object({ Cpus: amountOrNull, Memory: amountOrNull, Gpus: amountOrNull }, "The resources that the caller's limits leave."),
  defaults: object(
    {
      Cpus: number(),
      Memory: number(),
      StartMinutes: number(),
      Limits: effectiveLimits("The limits of people for whom none are set. `null` is unlimited."),
    },
    "The values that apply if a start, a project or a person names none.",
  ),
})
export type Capacity = StructureValue<typeof capacity>

/** The expected result of a start. */
export const preview = structure("Preview", {
  Admitted: boolean({ description: "It would start at once." }),
  Queued: boolean({ description: "It would wait for resources that others use." }),
  QueuePosition: nullable(integer({ min: 1 }), "From 1, if the run would be queued."),
  WaitsFor: waitsForField("would wait"),
  Reason: nullable(reason, "Why it would fail."),
})
export type Preview = StructureValue<typeof preview>
