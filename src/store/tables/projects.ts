import type { ProjectType } from "#contract"
import { copiedName, flag, integer, oneOf, text } from "./column.ts"
import { foldedNames } from "./folded-names.ts"
import type { RowOf } from "./row-mapper.ts"
import { stamps } from "./stamps.ts"
import { describeTable } from "./table.ts"

export const projectsTable = describeTable({
  name: "projects",
  resourceType: "project",
  fields: {
    ...stamps,
    projectName: text("project_name", { apiName: "ProjectName", foldedIn: "name_fold" }),
    userId: integer("user_id"),
    userName: copiedName("user_name", { apiName: "UserName" }),
    /** 0: no group. */
    groupId: integer("group_id"),
    /** Empty: no group. */
    groupName: copiedName("group_name", { apiName: "GroupName" }),
    type: oneOf<ProjectType>()("type", { apiName: "Type" }),
    comment: text("comment", { apiName: "Comment", countsBytes: true }),
    doc: text("doc", { apiName: "Doc", initial: "", maxListedBytes: 8_192, isOmittedInParts: true }),
    isPublic: flag("is_published", { apiName: "IsPublic" }),
    isTrusted: flag("is_trusted", { apiName: "IsTrusted" }),
    imageId: integer("image_id", { apiName: "ImageID" }),
    userPath: text("user_path", { apiName: "UserPath", maxListedBytes: 4_096 }),
    codePath: text("code_path", { apiName: "CodePath", maxListedBytes: 4_096 }),
    modelPath: text("model_path", { apiName: "ModelPath", maxListedBytes: 4_096 }),
    /** Time for the program's start; 0: the setting. */
    startMinutes: integer("start_minutes", { apiName: "StartMinutes" }),
    /** Limits of each run; 0: none of the project's own. */
    idleMinutes: integer("idle_minutes", { apiName: "IdleMinutes" }),
    maxRunHours: integer("max_run_hours", { apiName: "MaxRunHours" }),
    /** The person who last changed what runs there. 0: not known. */
    writtenBy: integer("written_by"),
  },
  derived: foldedNames((row: { projectName: string; comment: string }) => ({ name: row.projectName, comment: row.comment })),
})

export interface ProjectRow extends RowOf<typeof projectsTable.fields> {}

/** The datasets of projects. */
export const projectDatasetsTable = describeTable({
  name: "project_datasets",
  fields: {
    projectId: integer("project_id"),
    dataId: integer("data_id"),
    /** As written; empty: the default, made from the dataset's name. */
    mountPath: text("mount_path", { maxListedBytes: 256 }),
  },
  internal: { position: integer("position") },
})

/** A dataset of a project, in the project's order. */
export interface ProjectDatasetRow extends RowOf<typeof projectDatasetsTable.fields> {}
