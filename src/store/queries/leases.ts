import { sql } from "kysely"
import type { QueryBuilder } from "./query-builder.ts"
import { rowColumns } from "./select.ts"

interface HeldArgs {
  name: string
  token: number
}

/** Tasks that one of several processes has alone. */
export const leaseQueries = {
  lease: ({ db }: QueryBuilder, { name }: { name: string }) =>
    db.selectFrom("leases").select(rowColumns("leases")).where("name", "=", name),

  takeLease: ({ db }: QueryBuilder, { name, holder, address }: { name: string; holder: string; address: string }) =>
    db
      .insertInto("leases")
      .values({ name, holder, address, token: sql.lit(1), beat: sql.lit(0) })
      .onConflict((conflict) => conflict.column("name").doUpdateSet({ holder, address, token: sql`leases.token + 1`, beat: sql.lit(0) }))
      .returning("token"),

  renewLease: ({ db }: QueryBuilder, { name, token }: HeldArgs) =>
    db.updateTable("leases").set({ beat: sql`beat + 1` }).where("name", "=", name).where("token", "=", token),

  releaseLease: ({ db }: QueryBuilder, { name, token }: HeldArgs) =>
    db
      .updateTable("leases")
      .set({ holder: sql.lit("") })
      .where("name", "=", name)
      .where("token", "=", token),
}
