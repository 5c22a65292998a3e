import type { Migration } from "./migration.ts"

/** Each fetched image has the name of the person for whom it was fetched; empty: nobody. */
export const imageOwnersMigration: Migration = {
  version: 21,
  name: "image owners",
  statements: () => ["alter table pulled_images add column fetched_for $text not null default ''"],
}
