import type { Migration } from "./migration.ts"

/** The last writer is unknown (0) if somebody else had write access. */
const writer = (table: string, type: string) =>
  `update ${table} set written_by = case when exists (select 1 from grants where grants.thing_type = '${type}' and grants.thing_id = ${table}.id and grants.access = 'write') then 0 else user_id end`

/**
 * The person who last changed the parts that run: the owner's home is not mounted for other
 * people's code.
 */
export const writersMigration: Migration = {
  version: 7,
  name: "writers",
  statements: () => [
    "alter table images add column written_by $int not null default 0",
    "alter table projects add column written_by $int not null default 0",
    writer("images", "image"),
    writer("projects", "project"),
  ],
}
