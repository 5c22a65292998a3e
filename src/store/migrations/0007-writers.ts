import type { Migration } from "./migration.ts"

/** Nobody answers for what stands where somebody else may have written to it already. */
const writer = (table: string, type: string) =>
  `update ${table} set written_by = case when exists (select 1 from grants where grants.thing_type = '${type}' and grants.thing_id = ${table}.id and grants.access = 'write') then 0 else user_id end`

/** Who last changed what runs: the owner's home is not given to what somebody else wrote. */
export const writers: Migration = {
  version: 7,
  name: "writers",
  statements: () => [
    "alter table images add column written_by $int not null default 0",
    "alter table projects add column written_by $int not null default 0",
    writer("images", "image"),
    writer("projects", "project"),
  ],
}
