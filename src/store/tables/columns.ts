import type { GrantedType } from "../rows.ts"

/**
 * The columns of each kind of row in the order in which the mappers of `tables/` read them. Rows
 * carry the names of the person and the group whose IDs they hold; those of grants are looked up.
 */
const stamps = ["id", "created_at", "updated_at", "deleted_at", "version"] as const

export const columns = {
  users: [...stamps, "user_name", "password_hash", "email", "comment", "is_admin", "is_disabled", "limits"],
  groups: [...stamps, "group_name", "comment", "limits", "total_limits"],
  tokens: ["id", "user_id", "name", "hash", "created_at", "expires_at", "last_used_at", "scopes"],
  sessions: ["hash", "user_id", "created_at", "expires_at"],
  images: [
    ...stamps,
    "name",
    "image",
    "comment",
    "command",
    "env",
    "port",
    "user_id",
    "user_name",
    "is_published",
    "is_trusted",
    "doc",
    "written_by",
  ],
  datasets: [...stamps, "type", "name", "comment", "doc", "user_id", "user_name", "access_info", "is_published"],
  projects: [
    ...stamps,
    "project_name",
    "user_id",
    "user_name",
    "group_id",
    "group_name",
    "type",
    "comment",
    "doc",
    "is_published",
    "is_trusted",
    "image_id",
    "user_path",
    "code_path",
    "model_path",
    "written_by",
  ],
  grants: [
    "id",
    "created_at",
    "updated_at",
    "version",
    "thing_type",
    "thing_id",
    "owner_id",
    "user_id",
    "user_name",
    "group_id",
    "group_name",
    "access",
    "expires_at",
    "created_by",
  ],
  runs: [
    "id",
    "key",
    "project_id",
    "user_id",
    "user_name",
    "state",
    "wanted",
    "reason",
    "progress",
    "spec",
    "nodes",
    "cpus",
    "memory_mib",
    "gpus",
    "gpu_memory_mib",
    "created_at",
    "updated_at",
    "version",
    "start_time",
    "ready_time",
    "end_time",
    "last_activity",
    "expires_at",
    "node_names",
    "gpu_devices",
    "image_digest",
  ],
} as const

export type RowTable = keyof typeof columns

/**
 * Texts that people write, by the bytes up to which a list reads them: a page must not hold what
 * 200 rows can.
 */
export const longColumns: Partial<Record<RowTable, Readonly<Record<string, number>>>> = {
  images: { doc: 8_192, env: 4_096, command: 4_096 },
  datasets: { doc: 8_192, access_info: 4_096 },
  projects: { doc: 8_192, user_path: 4_096, code_path: 4_096, model_path: 4_096 },
  runs: { spec: 1_024 },
}
/** Of these the length is counted as well. */
export const countedColumns = ["comment", "reason"] as const
/** Tables of things that people own and may publish. */
export const resourceTables = ["images", "datasets", "projects"] as const
export type ResourceTable = (typeof resourceTables)[number]
/** Tables of things that may be granted. */
export type GrantedTable = ResourceTable | "runs"
const grantedTypes: Record<GrantedTable, GrantedType> = { images: "image", datasets: "data", projects: "project", runs: "run" }
/** What grants call the things of a table. */
export const grantedType = (table: GrantedTable): GrantedType => grantedTypes[table]
/** Tables of which rows are stamped, named, and deleted softly. */
export type StampedTable = ResourceTable | "users" | "groups"
/** What cannot be written, or only by the queries themselves. */
const kept = new Set<string>(["id", "deleted_at", "version"])
const folded = ["name_fold", "search"]

/** Names that rows carry, which the queries look up by the ID when a row is written. */
export const carried = {
  images: ["user_name"],
  datasets: ["user_name"],
  projects: ["user_name", "group_name"],
  runs: ["user_name"],
} as const

/** Columns that an insert gives as arguments. */
export function insertedColumns(table: StampedTable | "runs"): string[] {
  const names: readonly string[] = table in carried ? carried[table as "runs"] : []
  const own = columns[table].filter((column) => !kept.has(column) && !names.includes(column))
  if (table === "runs") return own
  return [...own, ...folded, ...(table === "datasets" ? ["access_key"] : [])]
}

/**
 * Columns that an update gives as arguments: names of people and groups, and when a row was made,
 * never change.
 */
export function updatedColumns(table: StampedTable | "runs"): string[] {
  const fixed = new Set(["created_at", "key", ...(table === "users" ? ["user_name"] : []), ...(table === "groups" ? ["group_name"] : [])])
  return insertedColumns(table).filter((column) => !fixed.has(column))
}
