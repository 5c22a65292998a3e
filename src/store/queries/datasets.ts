import { sql } from "kysely"
import { datasetDirectoryMapper, directoryOwnerMapper } from "../tables/datasets.ts"
import { isGranted, selectGrantedIds } from "./grants.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues } from "./rows.ts"
import { column, partColumns, pickColumns, rowColumns } from "./select.ts"
import { visibilityClasses } from "./visibility.ts"

type Args = Readonly<Record<string, unknown>>

interface BetweenArgs {
  from: string
  until: string
  prefix: string
  length: number
  user_id: number
  groups: readonly number[]
  now: number
}

const isBetween = ({ from, until, prefix, length }: BetweenArgs) =>
  sql<boolean>`access_key >= ${from} and access_key < ${until} and substr(access_info, 1, ${length}) = ${prefix} and deleted_at is null`

/** The maximum of datasets below a path that SQLite looks up among the grants of a viewer. */
const maxLookedUp = 200

interface AroundArgs {
  above: readonly string[]
  from: string
  until: string
}

function idsAround({ db, among }: QueryBuilder, args: AroundArgs) {
  const live = () => db.selectFrom("datasets").select("id").where("deleted_at", "is", null)
  const above = live().where(among(column("datasets", "access_key"), args.above))
  const below = live().where("access_key", ">=", args.from).where("access_key", "<", args.until)
  // SQLite reads the whole table for one condition with `or`.
  return above.unionAll(below)
}

/** Datasets by path, who could ever write to them, and their moves to other owners. */
export const datasetQueries = {
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
  datasetsAround: (build: QueryBuilder, args: AroundArgs) =>
    build.db
      .selectFrom("datasets")
      .select(pickColumns("datasets", datasetDirectoryMapper))
      .where("id", "in", idsAround(build, args))
      .orderBy("id"),

  /** Everybody who ever could write to one of the same datasets, each once. */
  writersAround: (build: QueryBuilder, args: AroundArgs) =>
    build.db
      .selectFrom("dataset_writers")
      .select(["user_id", "group_id"])
      .distinct()
      .where("data_id", "in", idsAround(build, args))
      .orderBy("user_id")
      .orderBy("group_id"),

  /** Live datasets whose paths `path` begins with, and whose keys are `above`. */
  datasetsAt: ({ db, among }: QueryBuilder, args: { above: readonly string[]; path: string }) =>
    db
      .selectFrom("datasets")
      .select(partColumns("datasets"))
      .where("deleted_at", "is", null)
      .where(among(column("datasets", "access_key"), args.above))
      .where(sql<boolean>`substr(cast(${args.path} as text), 1, length(access_info)) = access_info`)
      .orderBy("id"),

  /** The directories of live datasets with these keys, the oldest last. */
  directoryOwners: ({ db, among }: QueryBuilder, args: { keys: readonly string[] }) =>
    db
      .selectFrom("datasets")
      .select(pickColumns("datasets", directoryOwnerMapper))
      .where("deleted_at", "is", null)
      .where(among(column("datasets", "access_key"), args.keys))
      .orderBy("id", "desc"),

  /**
   * A viewer's visible paths between two keys that begin with a prefix of so many characters.
   * Without `all`: published, own and granted ones, each by an index. SQLite looks a few datasets
   * up among the grants, and reads all grants only if there are more. PostgreSQL would compare each
   * dataset with each grant, but hashes the grants for a condition with `or`.
   */
  visibleBetween: (build: QueryBuilder, args: BetweenArgs, all: "all" | "some") => {
    const between = () => build.db.selectFrom("datasets").select("access_info").where(isBetween(args))
    if (all === "all") return between().limit(sql.lit(1))
    const [published, own] = visibilityClasses("datasets", args)
    const seen = between()
      .where(published ?? sql.lit(false))
      .unionAll(between().where(own ?? sql.lit(false)))
    const isAmongGrants = sql<boolean>`id in (${selectGrantedIds(build, "data", args)})`
    if (build.dialect === "postgres") return seen.unionAll(between().where(sql<boolean>`(${isAmongGrants} or 1 = 0)`)).limit(sql.lit(1))
    const few = between().select("id").limit(sql.lit(maxLookedUp))
    const counted = build.db.selectFrom(few.as("few")).select(sql<number>`count(*)`.as("n"))
    return seen
      .unionAll(
        build.db
          .selectFrom(few.as("few"))
          .select("access_info")
          .where(isGranted(build, "data", args, sql`few.id`)),
      )
      .unionAll(
        build.db
          .selectFrom(counted.as("counted"))
          .crossJoin("datasets")
          .select("access_info")
          .where(sql<boolean>`n = ${sql.lit(maxLookedUp)} and ${isAmongGrants} and ${isBetween(args)}`),
      )
      .limit(sql.lit(1))
  },
}
