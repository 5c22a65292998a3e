import { type RawBuilder, type SqlBool, sql } from "kysely"
import { grantAccessMapper } from "../tables/grants.ts"
import { type GrantableTable, tables } from "../tables/index.ts"
import type { GrantableType } from "../tables/resource-type.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues } from "./rows.ts"
import { endedCondition } from "./runs.ts"
import { column, pickColumns, rowColumns } from "./select.ts"
import { visibilityClasses } from "./visibility.ts"

export const inForceCondition = (now: number) => sql<SqlBool>`(expires_at is null or expires_at > ${now})`

/** Projects of the viewer's groups; no other resource has groups. */
export function groupsCondition(build: QueryBuilder, table: string, groups: readonly number[]): RawBuilder<SqlBool> | undefined {
  return table === "projects" ? sql<SqlBool>`${build.among(column("projects", "group_id"), groups)}` : undefined
}

/**
 * A viewer sees the grants on their own resources, and the grants to them or their groups. Each of
 * the three is found by an index; for conditions with `or`, SQLite reads everybody's grants.
 */
export function grantVisibility({ among }: QueryBuilder, viewer: { user_id: number; groups: readonly number[] }): RawBuilder<SqlBool> {
  const owned = sql`select id from grants where is_live = 1 and owner_id = ${viewer.user_id}`
  const received = sql`select id from grants where user_id <> 0 and user_id = ${viewer.user_id}`
  const ofGroups = sql`select id from grants where group_id <> 0 and ${among(sql.ref("group_id"), viewer.groups)}`
  return sql<SqlBool>`${column("grants", "id")} in (${owned} union all ${received} union all ${ofGroups})`
}

interface To {
  user_id: number
  groups: readonly number[]
  now: number
}

/** IDs of the resources granted to a person, also by groups; an ID may appear several times. */
export function selectGrantedIds(build: QueryBuilder, type: GrantableType, to: To): RawBuilder<unknown> {
  return selectGranted(build, to, sql`thing_type = ${sql.lit(type)}`)
}

/** Whether the resource of this ID is granted to a person. Each row is looked up by an index. */
export function isGranted(build: QueryBuilder, type: GrantableType, to: To, id: RawBuilder<unknown>): RawBuilder<SqlBool> {
  return sql<SqlBool>`exists (${selectGranted(build, to, sql`thing_type = ${sql.lit(type)} and thing_id = ${id}`)})`
}

function selectGranted({ among }: QueryBuilder, to: To, resources: RawBuilder<unknown>): RawBuilder<unknown> {
  const ids = (whom: RawBuilder<unknown>) => sql`select thing_id from grants where ${whom} and ${resources} and ${inForceCondition(to.now)}`
  return sql`${ids(sql`user_id <> 0 and user_id = ${to.user_id}`)} union all ${ids(sql`group_id <> 0 and ${among(sql.ref("group_id"), to.groups)}`)}`
}

type Columns = Readonly<Record<string, unknown>>

export const grantQueries = {
  /** Rows that a person sees by grants alone, outside of all visibility classes. */
  granted: (build: QueryBuilder, args: To, shape: { table: GrantableTable; subset: "live" | "ended" }) => {
    const { table, subset } = shape
    const classes = visibilityClasses(table, args, groupsCondition(build, table, args.groups))
    const isThere = table !== "runs" ? sql`deleted_at is null` : subset === "ended" ? endedCondition : sql`1 = 1`
    return build.anyTable
      .selectFrom(table)
      .select(["id", "user_id"])
      .where(sql<boolean>`id in (${selectGrantedIds(build, tables[table].resourceType, args)})`)
      .where(sql<boolean>`${isThere}`)
      .where(sql<boolean>`not (${sql.join(classes, sql` or `)})`)
      .orderBy("id", "desc")
  },

  /** The access that grants give one person on some resources of a type. */
  accessByGrants: ({ db, among }: QueryBuilder, args: To & { thing_type: string; ids: readonly number[] }) =>
    db
      .selectFrom("grants")
      .select(pickColumns("grants", grantAccessMapper))
      .where("thing_type", "=", args.thing_type)
      .where(among(sql.ref("thing_id"), args.ids))
      .where(sql<boolean>`(user_id = ${args.user_id} or (group_id <> 0 and ${among(sql.ref("group_id"), args.groups)}))`)
      .where(inForceCondition(args.now)),

  grantsOf: ({ db, among }: QueryBuilder, args: { thing_type: string; ids: readonly number[]; now: number }) =>
    db
      .selectFrom("grants")
      .select(rowColumns("grants"))
      .where("thing_type", "=", args.thing_type)
      .where(among(sql.ref("thing_id"), args.ids))
      .where(inForceCondition(args.now))
      .orderBy("grants.id"),

  grantInForce: ({ db }: QueryBuilder, args: { id: number; now: number }) =>
    db
      .selectFrom("grants")
      .select(rowColumns("grants"))
      .where("grants.id", "=", args.id)
      .where("is_live", "=", sql.lit(1))
      .where(inForceCondition(args.now)),

  /** A second grant of the same resource to the same person or group replaces the first. */
  putGrant: ({ anyTable }: QueryBuilder, args: Columns) =>
    anyTable
      .insertInto("grants")
      .values({ ...insertedValues("grants", args), version: sql.lit(1), is_live: sql.lit(1) })
      .onConflict((conflict) =>
        conflict.columns(["thing_type", "thing_id", "user_id", "group_id"]).doUpdateSet({
          ...Object.fromEntries(tables.grants.updateColumns.map((name) => [name, sql.ref(`excluded.${name}`)])),
          version: sql`grants.version + 1`,
        }),
      )
      .returning(rowColumns("grants")),

  deleteGrant: ({ db }: QueryBuilder, args: { id: number }) => db.deleteFrom("grants").where("id", "=", args.id),

  deleteGrants: ({ db, among }: QueryBuilder, args: { ids: readonly number[] }) =>
    db.deleteFrom("grants").where(among(sql.ref("id"), args.ids)),

  deleteGrantsToUser: ({ db }: QueryBuilder, args: { user_id: number }) =>
    db.deleteFrom("grants").where("user_id", "<>", sql.lit(0)).where("user_id", "=", args.user_id),

  deleteGrantsToGroup: ({ db }: QueryBuilder, args: { group_id: number }) =>
    db.deleteFrom("grants").where("group_id", "<>", sql.lit(0)).where("group_id", "=", args.group_id),

  /** After a resource was deleted or restored. */
  setGrantsLive: ({ db }: QueryBuilder, args: { thing_type: string; thing_id: number; is_live: 0 | 1 }) =>
    db.updateTable("grants").set({ is_live: args.is_live }).where("thing_type", "=", args.thing_type).where("thing_id", "=", args.thing_id),

  /** After a resource was transferred to another owner. */
  transferGrants: ({ db }: QueryBuilder, args: { thing_type: string; thing_id: number; owner_id: number }) =>
    db
      .updateTable("grants")
      .set({ owner_id: args.owner_id })
      .where("thing_type", "=", args.thing_type)
      .where("thing_id", "=", args.thing_id)
      .where("owner_id", "<>", args.owner_id),

  /** Deletes the new owner's former grant: it would apply again after another transfer. */
  deleteGrantToOwner: ({ db }: QueryBuilder, args: { thing_type: string; thing_id: number; owner_id: number }) =>
    db
      .deleteFrom("grants")
      .where("thing_type", "=", args.thing_type)
      .where("thing_id", "=", args.thing_id)
      .where("user_id", "=", args.owner_id),

  expiredGrants: ({ db }: QueryBuilder, args: { now: number; limit: number }) =>
    db
      .selectFrom("grants")
      .select(rowColumns("grants"))
      .where(sql<boolean>`expires_at is not null and expires_at <= ${args.now}`)
      .orderBy("grants.expires_at")
      .limit(args.limit),
}
