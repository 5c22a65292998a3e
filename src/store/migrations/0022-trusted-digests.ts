import type { Migration } from "./migration.ts"

/** The digests of images that administrators trust by a tag, since the first start after that. */
export const trustedDigestsMigration: Migration = {
  version: 22,
  name: "trusted digests",
  statements: () => ["create table trusted_digests (image_id $int not null primary key references images, digest $text not null) $keyed"],
}
