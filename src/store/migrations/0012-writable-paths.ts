import type { Migration } from "./migration.ts"

/** A JSON list of the directories that runs of an image may write to. */
export const writablePathsMigration: Migration = {
  version: 12,
  name: "writable paths",
  statements: () => ["alter table images add column writable_paths $text not null default '[]'"],
}
