import type { AnswerValue } from "../fields/field.ts"
import { integer, oneOf } from "../fields/scalars.ts"
import { nullable, object, optional } from "../fields/shapes.ts"
import { text } from "../fields/text.ts"
import { reasonCodes } from "../reasons.ts"

/** Why a run ended or failed, as it is stored and answered. */
export const reason = object({
  code: oneOf({ values: reasonCodes }),
  msg: text({ description: "One plain sentence for the person who started the run." }),
  hint: optional(text({}), "One plain sentence: what the person can do."),
  exitCode: optional(integer({}), "The program's exit code, if it ended by itself."),
  logTail: optional(text({}), "The last 50 lines of output, at most 16 KiB."),
})
export type Reason = AnswerValue<typeof reason>

/** How far a step of a start has come. */
export const progress = object({
  step: text({ description: "While a program starts, its last line of output." }),
  current: integer({}),
  total: nullable(integer({}), "Null if nobody knows."),
  unit: oneOf({ values: ["bytes", "layers", "entries", "seconds"] }),
})
export type Progress = AnswerValue<typeof progress>

/** Present in previews and in runs; `verb` completes its description. */
export function waitsForField(verb: "waits" | "would wait") {
  return nullable(text({}), `One sentence on what it ${verb} for in the queue; otherwise null.`)
}
