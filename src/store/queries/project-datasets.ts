import { sql } from "kysely"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues } from "./rows.ts"
import { rowColumns, summaryColumns } from "./select.ts"

type Args = Readonly<Record<string, unknown>>

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

  addLink: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable.insertInto("project_datasets").values({ ...insertedValues("project_datasets", args), position: args.position }),
}
