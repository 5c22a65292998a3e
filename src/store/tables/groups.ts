import type { Limits } from "#contract"
import { json, text } from "./column.ts"
import { foldedNames } from "./folded-names.ts"
import type { RowOf } from "./row-mapper.ts"
import { stamps } from "./stamps.ts"
import { describeTable } from "./table.ts"

export const groupsTable = describeTable({
  name: "groups",
  fields: {
    ...stamps,
    groupName: text("group_name", { apiName: "GroupName", written: "once" }),
    comment: text("comment", { apiName: "Comment" }),
    /** Of each member. */
    limits: json<Limits>()("limits"),
    /** Of all members together. */
    totalLimits: json<Limits>()("total_limits"),
  },
  derived: foldedNames((row: { groupName: string; comment: string }) => ({ name: row.groupName, comment: row.comment })),
})

export interface GroupRow extends RowOf<typeof groupsTable.fields> {}
