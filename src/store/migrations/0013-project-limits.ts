import type { Migration } from "./migration.ts"

/** 0: only the limits of people and groups count. */
export const projectLimitsMigration: Migration = {
  version: 13,
  name: "project limits",
  statements: () => ["idle_minutes", "max_run_hours"].map((column) => `alter table projects add column ${column} $int not null default 0`),
}
