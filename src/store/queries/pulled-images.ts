import type { QueryBuilder } from "./query-builder.ts"
import { rowColumns } from "./select.ts"

interface PullArgs {
  reference: string
  digest: string
  now: number
  fetched_for: string
}

/** Images that Quayside fetched. */
export const pulledImageQueries = {
  pulledImages: ({ db }: QueryBuilder, _args: object) =>
    db.selectFrom("pulled_images").select(rowColumns("pulled_images")).orderBy("digest").orderBy("reference"),

  pulledDigest: ({ db }: QueryBuilder, args: { digest: string }) =>
    db.selectFrom("pulled_images").select("digest").where("digest", "=", args.digest),

  recordPull: ({ db }: QueryBuilder, { reference, digest, now, fetched_for }: PullArgs) =>
    db
      .insertInto("pulled_images")
      .values({ reference, digest, fetched_at: now, used_at: now, fetched_for })
      .onConflict((conflict) => conflict.columns(["reference", "digest"]).doUpdateSet({ fetched_at: now, used_at: now })),

  recordImageUse: ({ db }: QueryBuilder, { digest, now }: { digest: string; now: number }) =>
    db.updateTable("pulled_images").set({ used_at: now }).where("digest", "=", digest).where("used_at", "<", now),

  forgetPulledImage: ({ db }: QueryBuilder, { digest }: { digest: string }) => db.deleteFrom("pulled_images").where("digest", "=", digest),
}
