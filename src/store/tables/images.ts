import { copiedName, flag, integer, json, text } from "./column.ts"
import { foldedNames } from "./folded-names.ts"
import type { RowOf } from "./row-mapper.ts"
import { stamps } from "./stamps.ts"
import { describeTable } from "./table.ts"

export const imagesTable = describeTable({
  name: "images",
  resourceType: "image",
  fields: {
    ...stamps,
    name: text("name", { apiName: "Name", foldedIn: "name_fold" }),
    image: text("image", { apiName: "Image" }),
    comment: text("comment", { apiName: "Comment", countsBytes: true }),
    command: text("command", { apiName: "Command", maxListedBytes: 4_096 }),
    env: text("env", { apiName: "Env", maxListedBytes: 4_096 }),
    port: text("port", { apiName: "Port" }),
    userId: integer("user_id"),
    userName: copiedName("user_name", { apiName: "UserName" }),
    isPublished: flag("is_published", { apiName: "IsPublished" }),
    isTrusted: flag("is_trusted", { apiName: "IsTrusted" }),
    writablePaths: json<string[]>()("writable_paths", { apiName: "WritablePaths" }),
    keepPresent: flag("keep_present", { apiName: "KeepPresent" }),
    doc: text("doc", { apiName: "Doc", maxListedBytes: 8_192, isOmittedInParts: true }),
    /** The person who last changed what runs there. 0: not known. */
    writtenBy: integer("written_by"),
  },
  derived: foldedNames((row: { name: string; comment: string }) => row),
})

export interface ImageRow extends RowOf<typeof imagesTable.fields> {}

/** The digests of images that administrators trust by a tag; no row: of any. */
export const trustedDigestsTable = describeTable({
  name: "trusted_digests",
  fields: {
    imageId: integer("image_id"),
    /** By which the registry provides it; empty: it was built on the machine. */
    digest: text("digest"),
  },
})
