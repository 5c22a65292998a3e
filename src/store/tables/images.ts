import { copiedName, flag, integer, text } from "./column.ts"
import { foldedNames } from "./folded-names.ts"
import type { RowOf } from "./row-mapper.ts"
import { stamps } from "./stamps.ts"
import { describeTable } from "./table.ts"

export const images = describeTable({
  name: "images",
  resourceType: "image",
  fields: {
    ...stamps,
    name: text("name", { wire: "Name", foldedIn: "name_fold" }),
    image: text("image", { wire: "Image" }),
    comment: text("comment", { wire: "Comment", countsBytes: true }),
    command: text("command", { wire: "Command", maxListedBytes: 4_096 }),
    env: text("env", { wire: "Env", maxListedBytes: 4_096 }),
    port: text("port", { wire: "Port" }),
    userId: integer("user_id"),
    userName: copiedName("user_name", { wire: "UserName" }),
    isPublished: flag("is_published", { wire: "IsPublished" }),
    isTrusted: flag("is_trusted", { wire: "IsTrusted" }),
    doc: text("doc", { wire: "Doc", maxListedBytes: 8_192, isOmittedInParts: true }),
    /** The person who last changed what runs there. 0: not known. */
    writtenBy: integer("written_by"),
  },
  derived: foldedNames((row: { name: string; comment: string }) => row),
})

export interface ImageRow extends RowOf<typeof images.fields> {}
