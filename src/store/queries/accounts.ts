import { sql } from "kysely"
import { subjectUserMapper } from "../tables/credentials.ts"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues } from "./rows.ts"
import { longTextBytes, pickColumns, rowColumns } from "./select.ts"

type Args = Readonly<Record<string, unknown>>

interface SessionArgs {
  /** Of everybody if absent. */
  user_id?: number
  now: number
}
type SessionsOf = "user" | "everybody"

function liveSessions({ db }: QueryBuilder, args: SessionArgs, of: SessionsOf) {
  const live = db.selectFrom("sessions").where("expires_at", ">", args.now)
  return of === "user" ? live.where("user_id", "=", args.user_id as number) : live
}

/** People, groups and their credentials. */
export const accountQueries = {
  userByName: ({ db }: QueryBuilder, args: { name: string }) =>
    db.selectFrom("users").select(rowColumns("users")).where("user_name", "=", args.name),

  userId: ({ db }: QueryBuilder, args: { name: string }) => db.selectFrom("users").select("id").where("user_name", "=", args.name),

  userCount: ({ db }: QueryBuilder, _: object) => db.selectFrom("users").select(sql<number>`count(*)`.as("count")),

  adminsAmong: ({ db, among }: QueryBuilder, args: { ids: readonly number[] }) =>
    db
      .selectFrom("users")
      .select("id")
      .where(among(sql.ref("id"), args.ids))
      .where("is_admin", "=", sql.lit(1)),

  groupByName: ({ db }: QueryBuilder, args: { name: string }) =>
    db.selectFrom("groups").select(rowColumns("groups")).where("group_name", "=", args.name),

  groupId: ({ db }: QueryBuilder, args: { name: string }) => db.selectFrom("groups").select("id").where("group_name", "=", args.name),

  groupMembers: ({ db }: QueryBuilder, args: { group_id: number }) =>
    db
      .selectFrom("group_members")
      .innerJoin("users", "users.id", "group_members.user_id")
      .select("users.user_name")
      .where("group_members.group_id", "=", args.group_id)
      .where("users.deleted_at", "is", null)
      .orderBy("users.user_name"),

  groupMemberIds: ({ db }: QueryBuilder, args: { group_id: number }) =>
    db
      .selectFrom("group_members")
      .innerJoin("users", "users.id", "group_members.user_id")
      .select("users.id")
      .where("group_members.group_id", "=", args.group_id)
      .where("users.deleted_at", "is", null)
      .orderBy("users.id"),

  /**
   * The number of live and deleted resources of a person. The keys are those of the counters of
   * `ownedKeys`.
   */
  ownedCounts: ({ db, among }: QueryBuilder, args: { user_id: number; keys: readonly string[] }) => {
    const deleted = (table: "images" | "datasets" | "projects") =>
      sql`(select count(*) from ${sql.table(table)} where user_id = ${args.user_id} and deleted_at is not null)`
    const counted = sql`(select coalesce(sum(n), 0) from counters where ${among(sql.ref("key"), args.keys)} and block = -1)`
    const tokens = sql`(select count(*) from tokens where user_id = ${args.user_id})`
    const grants = (isLive: 0 | 1) => sql`(select count(*) from grants where owner_id = ${args.user_id} and is_live = ${sql.lit(isLive)})`
    const removed = sql`${deleted("images")} + ${deleted("datasets")} + ${deleted("projects")} + ${grants(0)}`
    return db.selectNoFrom([
      sql<number>`cast(${counted} + ${tokens} + ${grants(1)} as bigint)`.as("live"),
      sql<number>`cast(${removed} as bigint)`.as("deleted"),
    ])
  },

  userIds: ({ db, among }: QueryBuilder, args: { names: readonly string[] }) =>
    db
      .selectFrom("users")
      .select("id")
      .where(among(sql.ref("user_name"), args.names)),
  /** The number of live resources of several people. */
  ownedTogether: ({ db, among }: QueryBuilder, args: { user_ids: readonly number[]; keys: readonly string[] }) => {
    const counted = sql`(select coalesce(sum(n), 0) from counters where ${among(sql.ref("key"), args.keys)} and block = -1)`
    const tokens = sql`(select count(*) from tokens where ${among(sql.ref("user_id"), args.user_ids)})`
    const grants = sql`(select count(*) from grants where ${among(sql.ref("owner_id"), args.user_ids)} and is_live = ${sql.lit(1)})`
    return db.selectNoFrom([sql<number>`cast(${counted} + ${tokens} + ${grants} as bigint)`.as("live")])
  },

  /** Each index has either the live rows or the deleted ones. The texts themselves are not read. */
  ownedTextBytes: ({ db }: QueryBuilder, args: { user_id: number }) => {
    const ofTable = (table: "images" | "datasets" | "projects") =>
      [sql`deleted_at is null`, sql`deleted_at is not null`].map(
        (which) =>
          sql`(select coalesce(sum(${longTextBytes(table)}), 0) from ${sql.table(table)} where user_id = ${args.user_id} and ${which})`,
      )
    const sums = (["images", "datasets", "projects"] as const).flatMap(ofTable)
    return db.selectNoFrom([sql<number>`cast(${sql.join(sums, sql` + `)} as bigint)`.as("bytes")])
  },

  groupsOfUser: ({ db }: QueryBuilder, args: { user_id: number }) =>
    db
      .selectFrom("group_members")
      .innerJoin("groups", "groups.id", "group_members.group_id")
      .select(rowColumns("groups"))
      .where("group_members.user_id", "=", args.user_id)
      .where("groups.deleted_at", "is", null)
      .orderBy("groups.group_name"),

  clearMembers: ({ db }: QueryBuilder, args: { group_id: number }) => db.deleteFrom("group_members").where("group_id", "=", args.group_id),

  addMember: ({ db }: QueryBuilder, args: { group_id: number; user_id: number }) =>
    db
      .insertInto("group_members")
      .values({ group_id: args.group_id, user_id: args.user_id })
      .onConflict((conflict) => conflict.doNothing()),

  removeMember: ({ db }: QueryBuilder, args: { group_id: number; user_id: number }) =>
    db.deleteFrom("group_members").where("group_id", "=", args.group_id).where("user_id", "=", args.user_id),

  subject: ({ db }: QueryBuilder, args: { issuer: string; subject: string }) =>
    db
      .selectFrom("openid_subjects")
      .select(pickColumns("openid_subjects", subjectUserMapper))
      .where("issuer", "=", args.issuer)
      .where("subject", "=", args.subject),

  subjectsOfUser: ({ db }: QueryBuilder, args: { user_id: number }) =>
    db
      .selectFrom("openid_subjects")
      .select(rowColumns("openid_subjects"))
      .where("user_id", "=", args.user_id)
      .orderBy("issuer")
      .orderBy("subject"),

  insertSubject: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("openid_subjects")
      .values(insertedValues("openid_subjects", args))
      .onConflict((conflict) => conflict.doNothing()),

  tokenByHash: ({ db }: QueryBuilder, args: { hash: string }) =>
    db.selectFrom("tokens").select(rowColumns("tokens")).where("hash", "=", args.hash),

  tokenPage: ({ db }: QueryBuilder, args: { user_id: number; limit: number; offset: number }) =>
    db
      .selectFrom("tokens")
      .select(rowColumns("tokens"))
      .where("user_id", "=", args.user_id)
      .orderBy("id", "desc")
      .limit(args.limit)
      .offset(args.offset),

  tokenTotal: ({ db }: QueryBuilder, args: { user_id: number }) =>
    db.selectFrom("tokens").select(sql<number>`count(*)`.as("count")).where("user_id", "=", args.user_id),

  insertToken: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("tokens")
      .values(insertedValues("tokens", args))
      .onConflict((conflict) => conflict.doNothing())
      .returning(rowColumns("tokens")),

  deleteToken: ({ db }: QueryBuilder, args: { id: number }) => db.deleteFrom("tokens").where("id", "=", args.id),

  markTokensUsed: ({ db, among }: QueryBuilder, args: { ids: readonly number[]; at: number }) =>
    db
      .updateTable("tokens")
      .set({ last_used_at: args.at })
      .where(among(sql.ref("id"), args.ids)),

  deleteTokensOfUser: ({ db }: QueryBuilder, args: { user_id: number }) => db.deleteFrom("tokens").where("user_id", "=", args.user_id),

  sessionByHash: ({ db }: QueryBuilder, args: { hash: string }) =>
    db.selectFrom("sessions").select(rowColumns("sessions")).where("hash", "=", args.hash),

  insertSession: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable
      .insertInto("sessions")
      .values(insertedValues("sessions", args))
      .onConflict((conflict) => conflict.doNothing())
      .returning(rowColumns("sessions")),

  /** Sessions that have not expired, newest first; with the shape `user` those of one person. */
  sessionPage: (build: QueryBuilder, args: SessionArgs & { limit: number; offset: number }, of: SessionsOf) =>
    liveSessions(build, args, of).select(rowColumns("sessions")).orderBy("sessions.id", "desc").limit(args.limit).offset(args.offset),

  sessionTotal: (build: QueryBuilder, args: SessionArgs, of: SessionsOf) =>
    liveSessions(build, args, of).select(sql<number>`count(*)`.as("count")),

  markSessionsUsed: ({ db, among }: QueryBuilder, args: { ids: readonly number[]; at: number }) =>
    db
      .updateTable("sessions")
      .set({ last_used_at: args.at })
      .where(among(sql.ref("id"), args.ids)),

  deleteSession: ({ db }: QueryBuilder, args: { hash: string }) => db.deleteFrom("sessions").where("hash", "=", args.hash),

  /** All but one; an empty hash is nobody's. */
  deleteSessionsOfUser: ({ db }: QueryBuilder, args: { user_id: number; except: string }) =>
    db.deleteFrom("sessions").where("user_id", "=", args.user_id).where("hash", "<>", args.except).returning("id"),

  /** All but the newest. */
  deleteOldSessions: ({ db }: QueryBuilder, args: { user_id: number; max_sessions: number }) =>
    db
      .deleteFrom("sessions")
      .where("user_id", "=", args.user_id)
      .where("hash", "not in", (eb) =>
        eb.selectFrom("sessions").select("hash").where("user_id", "=", args.user_id).orderBy("id", "desc").limit(args.max_sessions),
      ),

  tokenCodeByHash: ({ db }: QueryBuilder, args: { hash: string }) =>
    db.selectFrom("token_codes").select(rowColumns("token_codes")).where("hash", "=", args.hash),

  insertTokenCode: ({ anyTable }: QueryBuilder, args: Args) =>
    anyTable.insertInto("token_codes").values(insertedValues("token_codes", args)),

  deleteTokenCode: ({ db }: QueryBuilder, args: { hash: string }) => db.deleteFrom("token_codes").where("hash", "=", args.hash),

  /** All but the newest. */
  deleteOldTokenCodes: ({ db }: QueryBuilder, args: { user_id: number; max_codes: number }) =>
    db
      .deleteFrom("token_codes")
      .where("user_id", "=", args.user_id)
      .where("hash", "not in", (eb) =>
        eb
          .selectFrom("token_codes")
          .select("hash")
          .where("user_id", "=", args.user_id)
          .orderBy("created_at", "desc")
          .orderBy("hash")
          .limit(args.max_codes),
      ),

  deleteExpiredTokenCodes: ({ db }: QueryBuilder, args: { now: number }) =>
    db.deleteFrom("token_codes").where("expires_at", "<=", args.now),

  deleteExpiredSessions: ({ db }: QueryBuilder, args: { now: number }) => db.deleteFrom("sessions").where("expires_at", "<=", args.now),
}
