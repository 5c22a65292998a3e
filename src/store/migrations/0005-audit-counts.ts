import type { Migration } from "./migration.ts"

/** A row of the audit may stand for many refusals of one minute. */
export const auditCounts: Migration = {
  version: 5,
  name: "audit counts",
  statements: () => ["alter table audit add column count $int not null default 1"],
}
