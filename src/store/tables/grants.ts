import { generatedId, integer, joinedName, nullableInteger, oneOf } from "./column.ts"
import type { GrantableType } from "./resource-type.ts"
import { pickFields, type RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

/** Rights on one resource that a person or the members of a group have. */
export const grantsTable = describeTable({
  name: "grants",
  fields: {
    id: generatedId(),
    createdAt: integer("created_at", { written: "once" }),
    updatedAt: integer("updated_at"),
    version: integer("version", { written: "never" }),
    resourceType: oneOf<GrantableType>()("thing_type", { written: "once" }),
    resourceId: integer("thing_id", { written: "once" }),
    /** The resource's owner. */
    ownerId: integer("owner_id", { written: "once" }),
    /** 0: the grant is a group's. */
    userId: integer("user_id", { written: "once" }),
    /** Empty: the grant is a group's. */
    userName: joinedName("user_name"),
    /** 0: the grant is a person's. */
    groupId: integer("group_id", { written: "once" }),
    /** Empty: the grant is a person's. */
    groupName: joinedName("group_name"),
    access: oneOf<"read" | "use" | "write">()("access"),
    /** The grant has no effect from then on; null: it never expires. */
    expiresAt: nullableInteger("expires_at"),
    createdBy: integer("created_by"),
  },
  /** Whether the resource is not deleted, as in its own row. */
  internal: { isLive: integer("is_live") },
})

export interface GrantRow extends RowOf<typeof grantsTable.fields> {}

export const grantAccessMapper = pickFields(grantsTable, ["resourceId", "access"])
