import type { ProjectType } from "#contract"
import type { Value } from "../driver.ts"
import { fold, key, searched } from "../fold.ts"
import type { Kind } from "../repositories/resource.ts"
import type { DataRow, GroupRow, ImageRow, Limits, ProjectRow, UserRow } from "../rows.ts"

/*
 * Mappers read by position, in the order of `sql/columns.ts`, and make literals: this is the
 * hottest code of the store.
 */
type Values = readonly Value[]
const n = (value: Value | undefined) => value as number
const s = (value: Value | undefined) => value as string
const orNull = (value: Value | undefined) => value as number | null
const stamps = { id: "id", createdAt: "created_at", updatedAt: "updated_at", deletedAt: "deleted_at", version: "version" } as const

function named(name: string, comment: string): { name_fold: string; search: string } {
  return { name_fold: key(fold(name)), search: searched(name, comment) }
}

export const users: Kind<UserRow> = {
  table: "users",
  unique: "userName",
  columns: { ...stamps, userName: "user_name", email: "email", comment: "comment", isAdmin: "is_admin", isDisabled: "is_disabled" },
  toRow: (v: Values) => ({
    id: n(v[0]),
    createdAt: n(v[1]),
    updatedAt: n(v[2]),
    deletedAt: orNull(v[3]),
    version: n(v[4]),
    userName: s(v[5]),
    passwordHash: v[6] as string | null,
    email: s(v[7]),
    comment: s(v[8]),
    isAdmin: v[9] === 1,
    isDisabled: v[10] === 1,
    limits: JSON.parse(s(v[11])) as Limits,
  }),
  toColumns: (row) => ({
    user_name: row.userName,
    password_hash: row.passwordHash,
    email: row.email,
    comment: row.comment,
    is_admin: row.isAdmin,
    is_disabled: row.isDisabled,
    limits: JSON.stringify(row.limits),
    ...named(row.userName, row.comment),
  }),
}

export const groups: Kind<GroupRow> = {
  table: "groups",
  unique: "groupName",
  columns: { ...stamps, groupName: "group_name", comment: "comment" },
  toRow: (v: Values) => ({
    id: n(v[0]),
    createdAt: n(v[1]),
    updatedAt: n(v[2]),
    deletedAt: orNull(v[3]),
    version: n(v[4]),
    groupName: s(v[5]),
    comment: s(v[6]),
    limits: JSON.parse(s(v[7])) as Limits,
    totalLimits: JSON.parse(s(v[8])) as Limits,
  }),
  toColumns: (row) => ({
    group_name: row.groupName,
    comment: row.comment,
    limits: JSON.stringify(row.limits),
    total_limits: JSON.stringify(row.totalLimits),
    ...named(row.groupName, row.comment),
  }),
}

export const images: Kind<ImageRow> = {
  table: "images",
  columns: {
    ...stamps,
    name: "name",
    image: "image",
    comment: "comment",
    command: "command",
    env: "env",
    port: "port",
    userId: "user_id",
    userName: "user_name",
    isPublished: "is_published",
    isTrusted: "is_trusted",
    doc: "doc",
    writtenBy: "written_by",
  },
  toRow: (v: Values) => ({
    id: n(v[0]),
    createdAt: n(v[1]),
    updatedAt: n(v[2]),
    deletedAt: orNull(v[3]),
    version: n(v[4]),
    name: s(v[5]),
    image: s(v[6]),
    comment: s(v[7]),
    command: s(v[8]),
    env: s(v[9]),
    port: s(v[10]),
    userId: n(v[11]),
    userName: s(v[12]),
    isPublished: v[13] === 1,
    isTrusted: v[14] === 1,
    doc: s(v[15]),
    writtenBy: n(v[16]),
  }),
  toColumns: (row) => ({
    name: row.name,
    image: row.image,
    comment: row.comment,
    command: row.command,
    env: row.env,
    port: row.port,
    user_id: row.userId,
    is_published: row.isPublished,
    is_trusted: row.isTrusted,
    doc: row.doc,
    written_by: row.writtenBy,
    ...named(row.name, row.comment),
  }),
}

export const datasets: Kind<DataRow> = {
  table: "datasets",
  columns: {
    ...stamps,
    type: "type",
    name: "name",
    comment: "comment",
    doc: "doc",
    userId: "user_id",
    userName: "user_name",
    accessInfo: "access_info",
    isPublished: "is_published",
  },
  toRow: (v: Values) => ({
    id: n(v[0]),
    createdAt: n(v[1]),
    updatedAt: n(v[2]),
    deletedAt: orNull(v[3]),
    version: n(v[4]),
    type: v[5] as "dir",
    name: s(v[6]),
    comment: s(v[7]),
    doc: s(v[8]),
    userId: n(v[9]),
    userName: s(v[10]),
    accessInfo: s(v[11]),
    isPublished: v[12] === 1,
  }),
  toColumns: (row) => ({
    type: row.type,
    name: row.name,
    comment: row.comment,
    doc: row.doc,
    user_id: row.userId,
    access_info: row.accessInfo,
    access_key: key(row.accessInfo),
    is_published: row.isPublished,
    ...named(row.name, row.comment),
  }),
}

export const projects: Kind<ProjectRow> = {
  table: "projects",
  columns: {
    ...stamps,
    projectName: "project_name",
    userId: "user_id",
    userName: "user_name",
    groupId: "group_id",
    groupName: "group_name",
    type: "type",
    comment: "comment",
    doc: "doc",
    isPublic: "is_published",
    isTrusted: "is_trusted",
    imageId: "image_id",
    userPath: "user_path",
    codePath: "code_path",
    modelPath: "model_path",
    writtenBy: "written_by",
  },
  toRow: (v: Values) => ({
    id: n(v[0]),
    createdAt: n(v[1]),
    updatedAt: n(v[2]),
    deletedAt: orNull(v[3]),
    version: n(v[4]),
    projectName: s(v[5]),
    userId: n(v[6]),
    userName: s(v[7]),
    groupId: n(v[8]),
    groupName: s(v[9]),
    type: v[10] as ProjectType,
    comment: s(v[11]),
    doc: s(v[12]),
    isPublic: v[13] === 1,
    isTrusted: v[14] === 1,
    imageId: n(v[15]),
    userPath: s(v[16]),
    codePath: s(v[17]),
    modelPath: s(v[18]),
    writtenBy: n(v[19]),
  }),
  toColumns: (row) => ({
    project_name: row.projectName,
    user_id: row.userId,
    group_id: row.groupId,
    type: row.type,
    comment: row.comment,
    doc: row.doc,
    is_published: row.isPublic,
    is_trusted: row.isTrusted,
    image_id: row.imageId,
    user_path: row.userPath,
    code_path: row.codePath,
    model_path: row.modelPath,
    written_by: row.writtenBy,
    ...named(row.projectName, row.comment),
  }),
}
