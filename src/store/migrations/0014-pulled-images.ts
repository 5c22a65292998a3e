import type { Migration } from "./migration.ts"

/**
 * The images that Quayside fetched, and no others: only these may ever be pruned. Each run has the
 * digest by which its registry provides its image.
 */
export const pulledImagesMigration: Migration = {
  version: 14,
  name: "pulled images",
  statements: () => [
    "create table pulled_images (reference $text not null, digest $text not null, fetched_at $int not null, used_at $int not null, primary key (reference, digest)) $keyed",
    "create index pulled_images_digest on pulled_images (digest)",
    "alter table images add column keep_present $int not null default 0",
    "alter table runs add column registry_digest $text not null default ''",
  ],
}
