import { type RawBuilder, sql } from "kysely"
import { selectGrantedIds } from "./grants.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues } from "./rows.ts"
import { column, partColumns, rowColumns, summaryColumns } from "./select.ts"
import { visibilityClasses } from "./visibility.ts"

type Args = Readonly<Record<string, unknown>>

/** The conditions on audit rows that are present. */
export interface AuditShape {
  actor?: true
  action?: true
  from?: true
  to?: true
}
export interface AuditArgs {
  actor?: string
  action?: string
  from?: number
  to?: number
}

function auditMatches(args: AuditArgs, shape: AuditShape): RawBuilder<boolean> {
  const all: unknown[] = []
  if (shape.actor) all.push(sql`actor = ${args.actor}`)
  if (shape.action) all.push(sql`action = ${args.action}`)
  if (shape.from) all.push(sql`at >= ${args.from}`)
  if (shape.to) all.push(sql`at <= ${args.to}`)
  return all.length === 0 ? sql<boolean>`1 = 1` : sql<boolean>`${sql.join(all, sql` and `)}`
}

/** Links between rows, and append-only tables. */
export const recordQueries = {
  meta: ({ db }: QueryBuilder, args: { key: string }) => db.selectFrom("meta").select("value").where("key", "=", args.key),

  setMeta: ({ db }: QueryBuilder, args: { key: string; value: string }) =>
    db
      .insertInto("meta")
      .values({ key: args.key, value: args.value })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: sql`excluded.value` })),

  journal: ({ anyTable }: QueryBuilder, args: Args) => anyTable.insertInto("journal").values(insertedValues("journal", args)),

  audit: ({ anyTable }: QueryBuilder, args: Args) => anyTable.insertInto("audit").values(insertedValues("audit", args)),

  journalAfter: ({ db }: QueryBuilder, args: { id: number; limit: number }) =>
    db.selectFrom("journal").select(rowColumns("journal")).where("id", ">", args.id).orderBy("id").limit(args.limit),

  journalBounds: ({ db }: QueryBuilder, _: object) =>
    db.selectNoFrom((eb) => [
      eb.selectFrom("journal").select(sql<number>`coalesce(min(id), 0)`.as("first")).as("first"),
      eb.selectFrom("journal").select(sql<number>`coalesce(max(id), 0)`.as("last")).as("last"),
    ]),

  /** The bytes of the data of rows in a range of IDs, its first one excluded. */
  journalBytes: ({ db }: QueryBuilder, args: { after: number; up_to: number }) =>
    db
      .selectFrom("journal")
      .select(sql<number>`coalesce(sum(octet_length(data)), 0)`.as("bytes"))
      .where("id", ">", args.after)
      .where("id", "<=", args.up_to),

  pruneJournal: ({ db }: QueryBuilder, args: { up_to: number }) =>
    db.deleteFrom("journal").where("id", "<=", args.up_to).where("id", "<", sql<number>`(select max(id) from journal)`),

  pruneAudit: ({ db }: QueryBuilder, args: { until: number; limit: number }) =>
    db
      .deleteFrom("audit")
      .where("id", "in", (eb) =>
        eb.selectFrom("audit").select("id").where("at", "<=", args.until).orderBy("at").orderBy("id").limit(args.limit),
      ),

  /** Rows beyond an actor's newest. */
  pruneAuditOf: ({ db }: QueryBuilder, args: { actor: string; max_rows: number; limit: number }) =>
    db
      .deleteFrom("audit")
      .where("id", "in", (eb) =>
        eb.selectFrom("audit").select("id").where("actor", "=", args.actor).orderBy("id", "desc").limit(args.limit).offset(args.max_rows),
      ),

  auditPage: ({ db }: QueryBuilder, args: AuditArgs & { limit: number; offset: number }, shape: AuditShape) =>
    db
      .selectFrom("audit")
      .select(rowColumns("audit"))
      .where(auditMatches(args, shape))
      .orderBy("id", "desc")
      .limit(args.limit)
      .offset(args.offset),

  auditTotal: ({ db }: QueryBuilder, args: AuditArgs, shape: AuditShape) =>
    db.selectFrom("audit").select(sql<number>`count(*)`.as("count")).where(auditMatches(args, shape)),

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

  plannedMoves: ({ db }: QueryBuilder, _: object) => db.selectFrom("moves").select(rowColumns("moves")).orderBy("data_id"),

  planMove: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("moves")
      .values(insertedValues("moves", args))
      .onConflict((conflict) => conflict.doNothing()),

  endMove: ({ db }: QueryBuilder, args: { data_id: number }) => db.deleteFrom("moves").where("data_id", "=", args.data_id),

  datasetWriters: ({ db, among }: QueryBuilder, args: { data_ids: readonly number[] }) =>
    db
      .selectFrom("dataset_writers")
      .select(rowColumns("dataset_writers"))
      .where(among(sql.ref("data_id"), args.data_ids))
      .orderBy("data_id")
      .orderBy("user_id")
      .orderBy("group_id"),

  recordDatasetWriter: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("dataset_writers")
      .values(insertedValues("dataset_writers", args))
      .onConflict((conflict) => conflict.doNothing()),

  /**
   * Datasets at the path, above it (at the keys `above`), or below it (between two keys, the second
   * excluded).
   */
  datasetsAround: ({ db, among }: QueryBuilder, args: { above: readonly string[]; from: string; until: string }) => {
    const live = () => db.selectFrom("datasets").select("id").where("deleted_at", "is", null)
    const above = live().where(among(column("datasets", "access_key"), args.above))
    const below = live().where("access_key", ">=", args.from).where("access_key", "<", args.until)
    // SQLite reads the whole table for one condition with `or`.
    return db.selectFrom("datasets").select(partColumns("datasets")).where("id", "in", above.unionAll(below)).orderBy("id")
  },

  /** Live datasets at these paths, whose keys are `above`. */
  datasetsAt: ({ db, among }: QueryBuilder, args: { above: readonly string[]; paths: readonly string[] }) =>
    db
      .selectFrom("datasets")
      .select(partColumns("datasets"))
      .where("deleted_at", "is", null)
      .where(among(column("datasets", "access_key"), args.above))
      .where(among(column("datasets", "access_info"), args.paths))
      .orderBy("id"),

  /**
   * A viewer's visible paths between two keys that begin with a prefix of so many characters.
   * Without `all`: published, own and granted ones, each by an index.
   */
  visibleBetween: (
    build: QueryBuilder,
    args: { from: string; until: string; prefix: string; length: number; user_id: number; groups: readonly number[]; now: number },
    all: "all" | "some",
  ) => {
    const between = () =>
      build.db
        .selectFrom("datasets")
        .select("access_info")
        .where("access_key", ">=", args.from)
        .where("access_key", "<", args.until)
        .where(sql<string>`substr(access_info, 1, ${args.length})`, "=", args.prefix)
        .where("deleted_at", "is", null)
    if (all === "all") return between().limit(sql.lit(1))
    const [published, own] = visibilityClasses("datasets", args)
    return between()
      .where(published ?? sql.lit(false))
      .unionAll(between().where(own ?? sql.lit(false)))
      .unionAll(between().where(sql<boolean>`id in (${selectGrantedIds(build, "data", args)})`))
      .limit(sql.lit(1))
  },
}
