import type { Dialect, Migration } from "./migration.ts"

/**
 * PostgreSQL collects new words of an index in a list of 4 MiB. The change that fills it would move
 * all of them into the index, for half a second, while everybody's changes wait.
 */
const withoutList = ["images", "datasets", "projects"].map(
  (table) =>
    `do $body$ begin if to_regclass('${table}_search') is not null then alter index ${table}_search set (fastupdate = off); perform gin_clean_pending_list('${table}_search'); end if; end $body$`,
)

/** Each change writes its own words into the index. */
export const searchWritesMigration: Migration = {
  version: 20,
  name: "search writes",
  statements: (dialect: Dialect) => (dialect === "postgres" ? withoutList : []),
}
