import type { AnswerValues } from "../fields/field.ts"
import { integer, nullableTimestamp, oneOf, timestamp } from "../fields/scalars.ts"
import { structure } from "../fields/structure.ts"
import { text } from "../fields/text.ts"

const resourceId = (what: string) => integer({ description: `The ${what} that it is on; 0: it is on another kind.` })
const granteeName = (what: string) =>
  text({ description: `The ${what} that it is granted to; empty: it is granted to the other kind.`, max: 64 })

/** A right on one resource, granted to one person or to the members of one group. */
export const grantFields = {
  ID: integer({ description: "Primary key.", write: "never" }),
  CreatedAt: timestamp({ description: "Creation time." }),
  UpdatedAt: timestamp({ description: "When it was last granted again." }),
  ImageID: resourceId("image"),
  DataID: resourceId("dataset"),
  ProjectID: resourceId("project"),
  RunID: resourceId("running project"),
  UserName: granteeName("person"),
  GroupName: granteeName("group"),
  Access: oneOf({
    description: "The right. `write` includes `use`, which includes `read`.",
    values: ["read", "use", "write"],
    write: "required",
  }),
  Until: nullableTimestamp({ description: "When it expires; null: it lasts until it is revoked.", write: "optional" }),
}
export type Grant = AnswerValues<typeof grantFields>
export const grantModel = structure("Grant", grantFields)
