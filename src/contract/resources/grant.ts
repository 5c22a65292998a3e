import { type Answer, integer, oneOf, text, time } from "../schema.ts"

const thing = (what: string) => integer({ doc: `The ${what} that it is on; 0: it is on something else.` })
const whom = (what: string) => text({ doc: `The ${what} that it is given to; empty: it is given to the other kind.`, max: 64 })

/** A right on one thing, given to one person or to the members of one group. */
export const grantFields = {
  ID: integer({ doc: "Primary key.", write: "never" }),
  CreatedAt: time({ doc: "Creation time." }),
  UpdatedAt: time({ doc: "When it was last given anew." }),
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
  Until: time({ doc: "From then on it does not count; null: it counts until it is taken back.", nullable: true, write: "optional" }),
}
export type Grant = Answer<typeof grantFields>
