import type { Limits } from "#contract"
import { flag, json, nullableText, text } from "./column.ts"
import { foldedNames } from "./folded-names.ts"
import type { RowOf } from "./row-mapper.ts"
import { stamps } from "./stamps.ts"
import { describeTable } from "./table.ts"

export const usersTable = describeTable({
  name: "users",
  fields: {
    ...stamps,
    userName: text("user_name", { apiName: "UserName", written: "once" }),
    /** PHC string; null: no password, the person signs in elsewhere. */
    passwordHash: nullableText("password_hash", { isSecret: true }),
    email: text("email", { apiName: "Email" }),
    comment: text("comment", { apiName: "Comment" }),
    isAdmin: flag("is_admin", { apiName: "IsAdmin" }),
    isDisabled: flag("is_disabled", { apiName: "IsDisabled" }),
    limits: json<Limits>()("limits"),
  },
  derived: foldedNames((row: { userName: string; comment: string }) => ({ name: row.userName, comment: row.comment })),
})

export interface UserRow extends RowOf<typeof usersTable.fields> {}
