import { sql } from "kysely"
import type { QueryBuilder } from "./query-builder.ts"

/** Values of the database itself, such as its identity. */
export const metaQueries = {
  meta: ({ db }: QueryBuilder, args: { key: string }) => db.selectFrom("meta").select("value").where("key", "=", args.key),

  setMeta: ({ db }: QueryBuilder, args: { key: string; value: string }) =>
    db
      .insertInto("meta")
      .values({ key: args.key, value: args.value })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: sql`excluded.value` })),
}
