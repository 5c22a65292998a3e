import type { Migration } from "./migration.ts"

/** 0: the installation's setting decides. */
export const startMinutesMigration: Migration = {
  version: 11,
  name: "start minutes",
  statements: () => ["alter table projects add column start_minutes $int not null default 0"],
}
