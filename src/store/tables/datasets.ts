import { indexKey } from "../fold.ts"
import { copiedName, flag, integer, oneOf, text } from "./column.ts"
import { foldedNames } from "./folded-names.ts"
import { pickFields, type RowOf } from "./row-mapper.ts"
import { stamps } from "./stamps.ts"
import { describeTable } from "./table.ts"

export const datasetsTable = describeTable({
  name: "datasets",
  resourceType: "data",
  fields: {
    ...stamps,
    type: oneOf<"dir">()("type", { apiName: "Type" }),
    name: text("name", { apiName: "Name", foldedIn: "name_fold" }),
    comment: text("comment", { apiName: "Comment", countsBytes: true }),
    doc: text("doc", { apiName: "Doc", maxListedBytes: 8_192, isOmittedInParts: true }),
    userId: integer("user_id"),
    userName: copiedName("user_name", { apiName: "UserName" }),
    /** The directory below the files root. */
    accessInfo: text("access_info", { apiName: "AccessInfo", maxListedBytes: 4_096 }),
    isPublished: flag("is_published", { apiName: "IsPublished" }),
  },
  derived: {
    ...foldedNames((row: { name: string; comment: string }) => row),
    access_key: (row: { accessInfo: string }) => indexKey(row.accessInfo),
  },
})

export interface DataRow extends RowOf<typeof datasetsTable.fields> {}

/** The fields that decide who has which rights below a dataset's directory. */
export const datasetDirectoryMapper = pickFields(datasetsTable, ["id", "userId", "accessInfo", "isPublished"])

export type DatasetDirectory = ReturnType<(typeof datasetDirectoryMapper)["toRow"]>

/** A dataset's directory and the name of its owner. */
export const directoryOwnerMapper = pickFields(datasetsTable, ["userName", "accessInfo"])

export const datasetWritersTable = describeTable({
  name: "dataset_writers",
  fields: {
    dataId: integer("data_id"),
    /** 0: the members of a group. */
    userId: integer("user_id"),
    /** 0: a person. */
    groupId: integer("group_id"),
  },
})

/** A person or group that could write to a dataset at some time, as a grantee or as its owner. */
export interface DatasetWriter extends RowOf<typeof datasetWritersTable.fields> {}

export const datasetMovesTable = describeTable({
  name: "moves",
  fields: { dataId: integer("data_id"), from: text("from_path"), to: text("to_path") },
})

/**
 * A dataset's directory that moves to another owner: recorded before the directory is renamed, and
 * removed by the change that gives the row its new owner.
 */
export interface DatasetMove extends RowOf<typeof datasetMovesTable.fields> {}
