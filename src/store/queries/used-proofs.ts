import type { QueryBuilder } from "./query-builder.ts"

/** One-time proofs that were used. */
export const usedProofQueries = {
  insertUsedProof: ({ db }: QueryBuilder, { id, endsAt }: { id: string; endsAt: number }) =>
    db
      .insertInto("used_proofs")
      .values({ id, ends_at: endsAt })
      .onConflict((conflict) => conflict.doNothing()),

  deleteExpiredProofs: ({ db }: QueryBuilder, { now, limit }: { now: number; limit: number }) =>
    db
      .deleteFrom("used_proofs")
      .where("id", "in", (eb) => eb.selectFrom("used_proofs").select("id").where("ends_at", "<=", now).limit(limit)),
}
