import type { QueryBuilder } from "./query-builder.ts"

/** One-time proofs that were used. */
export const usedProofQueries = {
  insertUsedProof: ({ db }: QueryBuilder, { id, endsAt }: { id: string; endsAt: number }) =>
    db
      .insertInto("used_proofs")
      .values({ id, ends_at: endsAt })
      .onConflict((conflict) => conflict.doNothing()),

  deleteExpiredProofs: ({ db }: QueryBuilder, { now }: { now: number }) => db.deleteFrom("used_proofs").where("ends_at", "<=", now),
}
