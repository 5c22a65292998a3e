import { sql } from "kysely"
import { tables } from "../tables/index.ts"
import { liveRunMapper, removedRunMapper, runWithoutPlanMapper } from "../tables/runs.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues, pickArguments } from "./rows.ts"
import { column, pickColumns, rowColumns } from "./select.ts"

type Args = Readonly<Record<string, unknown>>

/**
 * Has the exact text of the condition of the indexes over live runs; otherwise they are not used.
 */
export const liveCondition = sql<boolean>`state not in ('ended', 'failed')`
export const endedCondition = sql<boolean>`state in ('ended', 'failed')`

/** Has the exact text of the condition of the partial indexes `runs_held` and `runs_queued`. */
const isAdmitted = sql<boolean>`state not in ('queued', 'ended', 'failed')`
const isQueued = sql<boolean>`state = 'queued'`

export const runQueries = {
  runByKey: ({ db }: QueryBuilder, args: { key: string }) => db.selectFrom("runs").select(rowColumns("runs")).where("key", "=", args.key),

  runsWithoutPlan: ({ db, among }: QueryBuilder, args: { ids: readonly number[] }) =>
    db
      .selectFrom("runs")
      .select(pickColumns("runs", runWithoutPlanMapper))
      .where(among(column("runs", "id"), args.ids))
      .orderBy("id"),

  liveRuns: ({ db }: QueryBuilder, _: object) => db.selectFrom("runs").select(rowColumns("runs")).where(liveCondition).orderBy("id"),

  /** Admitted runs: they use the engine, or are about to. */
  admittedRuns: ({ db }: QueryBuilder, _: object) =>
    db.selectFrom("runs").select(pickColumns("runs", liveRunMapper)).where(isAdmitted).orderBy("id"),

  queuedRuns: ({ db }: QueryBuilder, _: object) =>
    db.selectFrom("runs").select(pickColumns("runs", liveRunMapper)).where(isQueued).orderBy("id"),

  /** `bigint`, since PostgreSQL returns other sums of integers as text. */
  holdingsOf: ({ db }: QueryBuilder, args: { user_id: number }) =>
    db
      .selectFrom("runs")
      .select([
        sql<number>`count(*)`.as("runs"),
        sql<number>`count(case when state = 'queued' then 1 end)`.as("queued"),
        sql<number>`cast(coalesce(sum(nodes * cpus), 0) as bigint)`.as("cpus"),
        sql<number>`cast(coalesce(sum(nodes * memory_mib), 0) as bigint)`.as("memory_mib"),
        sql<number>`cast(coalesce(sum(nodes * gpus), 0) as bigint)`.as("gpus"),
      ])
      .where("user_id", "=", args.user_id)
      .where(liveCondition),

  liveVersions: ({ db }: QueryBuilder, _: object) => db.selectFrom("runs").select(["id", "version"]).where(liveCondition).orderBy("id"),

  liveRunOf: ({ db }: QueryBuilder, args: { user_id: number; project_id: number }) =>
    db
      .selectFrom("runs")
      .select(rowColumns("runs"))
      .where("user_id", "=", args.user_id)
      .where("project_id", "=", args.project_id)
      .where(liveCondition),

  lastRunOf: ({ db }: QueryBuilder, args: { user_id: number; project_id: number }) =>
    db
      .selectFrom("runs")
      .select(rowColumns("runs"))
      .where("user_id", "=", args.user_id)
      .where("project_id", "=", args.project_id)
      .orderBy("id", "desc")
      .limit(sql.lit(1)),

  readyProjects: ({ db, among }: QueryBuilder, args: { user_id: number; project_ids: readonly number[] }) =>
    db
      .selectFrom("runs")
      .select("project_id")
      .where("user_id", "=", args.user_id)
      .where(among(sql.ref("project_id"), args.project_ids))
      .where("state", "=", sql.lit("ready"))
      .where(liveCondition)
      .orderBy("project_id"),

  /** Returns no row if the person already has a live run of the project. */
  insertRun: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("runs")
      .values({
        ...insertedValues("runs", args),
        version: sql.lit(1),
        owner_id: sql`(select projects.user_id from projects where projects.id = ${args.project_id})`,
      })
      .onConflict((conflict) => conflict.doNothing())
      .returning(rowColumns("runs")),

  /** Sets the ID of the next run, unless a run has this or a later ID. */
  nextRun: ({ db, dialect }: QueryBuilder, args: { id: number }) => {
    const isAhead = sql`${args.id} > coalesce((select max(id) from runs), 0)`
    const statement =
      dialect === "postgres"
        ? sql`select setval(pg_get_serial_sequence('runs', 'id'), ${args.id}, false) where ${isAhead}`
        : sql`insert or replace into sqlite_sequence (rowid, name, seq) select (select rowid from sqlite_sequence where name = 'runs'), 'runs', ${args.id} - 1 where ${isAhead}`
    return { compile: () => statement.compile(db) }
  },

  /**
   * Returns no row if the run has changed. After a restored backup, versions repeat. `samePlan`:
   * the plan is neither written nor returned.
   */
  updateRun: (
    { anyTable }: QueryBuilder,
    args: Args & { id: number; known_version: number; known_updated_at: number },
    plan: "newPlan" | "samePlan",
  ) =>
    anyTable
      .updateTable("runs")
      .set({
        ...pickArguments(
          args,
          tables.runs.updateColumns.filter((name) => plan === "newPlan" || name !== "spec"),
        ),
        version: sql`version + 1`,
      })
      .where("id", "=", args.id)
      .where("version", "=", args.known_version)
      .where("updated_at", "=", args.known_updated_at)
      .returning(plan === "newPlan" ? rowColumns("runs") : pickColumns("runs", runWithoutPlanMapper)),

  /** After a project was transferred: its owner sees its runs. */
  transferRuns: ({ db }: QueryBuilder, args: { project_id: number; owner_id: number }) =>
    db
      .updateTable("runs")
      .set({ owner_id: args.owner_id })
      .where("project_id", "=", args.project_id)
      .where("owner_id", "<>", args.owner_id),

  runsEndedBy: ({ db }: QueryBuilder, args: { until: number; limit: number }) =>
    db
      .selectFrom("runs")
      .select(pickColumns("runs", removedRunMapper))
      .where(endedCondition)
      .where("end_time", "<=", args.until)
      .orderBy("end_time")
      .orderBy("id")
      .limit(args.limit),

  /** The counters of people's histories that exceed a number. */
  longHistories: ({ db }: QueryBuilder, args: { max_runs: number }) =>
    db
      .selectFrom("counters")
      .select(["key", "n"])
      .where("key", ">", sql.lit("runs ended "))
      .where("key", "<", sql.lit("runs ended!"))
      .where("block", "=", sql.lit(-1))
      .where("n", ">", args.max_runs)
      .orderBy("key"),

  oldestEndedRuns: ({ db }: QueryBuilder, args: { user_id: number; limit: number }) =>
    db
      .selectFrom("runs")
      .select(pickColumns("runs", removedRunMapper))
      .where("user_id", "=", args.user_id)
      .where(endedCondition)
      .orderBy("id")
      .limit(args.limit),

  deleteKeysOfRuns: ({ db, among }: QueryBuilder, args: { ids: readonly number[] }) =>
    db.deleteFrom("idempotency_keys").where(among(sql.ref("run_id"), args.ids)),

  deleteGrantsOnRuns: ({ db, among }: QueryBuilder, args: { ids: readonly number[] }) =>
    db
      .deleteFrom("grants")
      .where("thing_type", "=", sql.lit("run"))
      .where(among(sql.ref("thing_id"), args.ids)),

  deleteRuns: ({ db, among }: QueryBuilder, args: { ids: readonly number[] }) =>
    db
      .deleteFrom("runs")
      .where(among(sql.ref("id"), args.ids))
      .where(endedCondition),

  idempotencyKey: ({ db }: QueryBuilder, args: { user_id: number; key: string; after: number }) =>
    db
      .selectFrom("idempotency_keys")
      .select(rowColumns("idempotency_keys"))
      .where("user_id", "=", args.user_id)
      .where("key", "=", args.key)
      .where("created_at", ">", args.after),

  insertIdempotencyKey: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("idempotency_keys")
      .values(insertedValues("idempotency_keys", args))
      .onConflict((conflict) => conflict.doNothing()),

  deleteExpiredIdempotencyKeys: ({ db }: QueryBuilder, args: { until: number }) =>
    db.deleteFrom("idempotency_keys").where("created_at", "<=", args.until),
}
