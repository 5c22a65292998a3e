import type { AnswerValues } from "../fields/field.ts"
import { integer, nullableTimestamp, oneOf, timestamp } from "../fields/scalars.ts"
import { structure } from "../fields/structure.ts"
import { text } from "../fields/text.ts"

const thing = (what: string) => integer({ doc: `The ${what} that it is on; 0: it is on something else.` })
const whom = (what: string) => text({ doc: `The ${what} that it is given to; empty: it is given to the other kind.`, max: 64 })

/** A right on one thing, given to one person or to the members of one group. */
export const grantFields = {
  ID: integer({ doc: "Primary key.", write: "never" }),
  CreatedAt: timestamp({ doc: "Creation time." }),
  UpdatedAt: timestamp({ doc: "When it was last given anew." }),
  ImageID: thing("image"),
  DataID: thing("dataset"),
  ProjectID: thing("project"),
  RunID: thing("running project"),
  UserName: whom("person"),
  GroupName: whom("group"),
  Access: oneOf({
    doc: "What it gives. `write` includes `use`, which includes `read`.",
    values: ["read", "use", "write"],
    write: "required",
  }),
  Until: nullableTimestamp({ doc: "From then on it does not count; null: it counts until it is taken back.", write: "optional" }),
}
export type Grant = AnswerValues<typeof grantFields>
export const grantModel = structure("Grant", grantFields)
