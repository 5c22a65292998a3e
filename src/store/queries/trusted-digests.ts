import type { QueryBuilder } from "./query-builder.ts"

/** Images that administrators trust by a tag. */
export const trustedDigestQueries = {
  trustedDigest: ({ db }: QueryBuilder, args: { image_id: number }) =>
    db.selectFrom("trusted_digests").select("digest").where("image_id", "=", args.image_id),

  recordTrustedDigest: ({ db }: QueryBuilder, args: { image_id: number; digest: string }) =>
    db.insertInto("trusted_digests").values({ image_id: args.image_id, digest: args.digest }),

  forgetTrustedDigest: ({ db }: QueryBuilder, args: { image_id: number }) =>
    db.deleteFrom("trusted_digests").where("image_id", "=", args.image_id),
}
