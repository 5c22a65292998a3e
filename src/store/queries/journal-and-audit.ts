import { type RawBuilder, sql } from "kysely"
import type { QueryBuilder } from "./query-builder.ts"
import { insertedValues } from "./rows.ts"
import { rowColumns } from "./select.ts"

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

export const journalAndAuditQueries = {
  journal: ({ anyTable }: QueryBuilder, args: Args) => anyTable.insertInto("journal").values(insertedValues("journal", args)),

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

  audit: ({ anyTable }: QueryBuilder, args: Args) => anyTable.insertInto("audit").values(insertedValues("audit", args)),

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
}
