import type { Migration } from "./migration.ts"

/** One audit row can stand for many refusals within a minute. */
export const auditCountsMigration: Migration = {
  version: 5,
  name: "audit counts",
  statements: () => ["alter table audit add column count $int not null default 1"],
}
