import { sql } from "kysely"
import type { QueryBuilder } from "./query-builder.ts"
import { rowColumns, summaryColumns } from "./select.ts"

interface LinkArgs {
  project_id: number
  data_ids: readonly number[]
  mount_paths: readonly string[]
}

/** The links between projects and their datasets. */
export const projectDatasetQueries = {
  links: ({ db, among }: QueryBuilder, args: { project_ids: readonly number[] }) =>
    db
      .selectFrom("project_datasets")
      .select(rowColumns("project_datasets"))
      .where(among(sql.ref("project_id"), args.project_ids))
      .orderBy("project_id")
      .orderBy("position"),

  /** The same with null instead of each long path, and the size of the path. */
  linkSummaries: ({ db, among }: QueryBuilder, args: { project_ids: readonly number[] }) =>
    db
      .selectFrom("project_datasets")
      .select(summaryColumns("project_datasets"))
      .where(among(sql.ref("project_id"), args.project_ids))
      .orderBy("project_id")
      .orderBy("position"),

  clearLinks: ({ db }: QueryBuilder, args: { project_id: number }) =>
    db.deleteFrom("project_datasets").where("project_id", "=", args.project_id),

  /** All links of a project, in their order. */
  addLinks: ({ anyTable, pairs }: QueryBuilder, { project_id, data_ids, mount_paths }: LinkArgs) =>
    anyTable
      .insertInto("project_datasets")
      .columns(["project_id", "position", "data_id", "mount_path"])
      .expression(sql`select cast(${project_id} as bigint), position, number, text from (${pairs(data_ids, mount_paths)}) as pairs`),
}
