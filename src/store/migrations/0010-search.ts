import type { Dialect, Migration } from "./migration.ts"

const searched = ["images", "datasets", "projects"] as const
const named = ["users", "groups", ...searched]

/** Only the capital ẞ was folded to ß. From now on both become ss. */
const refolded = named.map(
  (table) =>
    `update ${table} set search = replace(search, 'ß', 'ss'), name_fold = substr(replace(name_fold, 'ß', 'ss'), 1, 300) where search like '%ß%'`,
)

/**
 * Rows that the index does not contain yet: those with IDs beyond `search_marks`, and changed ones
 * in `search_pending`. `SearchIndexer` reads them from there. A new row needs no trigger.
 */
function sqlite(): string[] {
  return [
    "create table search_marks (kind $text not null, id $int not null, primary key (kind)) $keyed",
    "create table search_pending (kind $text not null, id $int not null, primary key (kind, id)) $keyed",
    ...searched.flatMap((table) => [
      `create virtual table ${table}_search using fts5(search, content='', contentless_delete=1, tokenize='trigram case_sensitive 1')`,
      `insert into search_marks values ('${table}', 0)`,
      `create trigger ${table}_search_update after update of search on ${table} when new.search <> old.search begin insert or ignore into search_pending values ('${table}', new.id); end`,
    ]),
  ]
}

/** IDs per block, as for the counters. */
const block = 4096

/**
 * Each change of a row increments the version of its block, which reveals outdated cached counts.
 * IDs reveal new rows.
 */
function versions(dialect: Dialect): string[] {
  const upsert = (table: string) =>
    `insert into block_versions values ('${table}', new.id / ${block}, 1) on conflict (kind, block) do update set version = block_versions.version + 1`
  const triggers = (table: string) =>
    dialect === "sqlite"
      ? [`create trigger ${table}_version after update on ${table} begin ${upsert(table)}; end`]
      : [
          `create function ${table}_version() returns trigger language plpgsql as $body$ begin ${upsert(table)}; return null; end $body$`,
          `create trigger ${table}_version after update on ${table} for each row execute function ${table}_version()`,
        ]
  return [
    "create table block_versions (kind $text not null, block $int not null, version $int not null, primary key (kind, block)) $keyed",
    ...(dialect === "postgres" ? ["alter table block_versions set (fillfactor = 50)"] : []),
    ...searched.flatMap(triggers),
  ]
}

/** If the extension is missing or not allowed, searches scan the rows as before. */
const extension =
  "do $body$ begin create extension if not exists pg_trgm; exception when others then raise notice 'pg_trgm: %', sqlerrm; end $body$"

function postgres(): string[] {
  const indexes = searched.map((table) => `create index ${table}_search on ${table} using gin (search gin_trgm_ops);`)
  const isThere = "exists (select from pg_extension where extname = 'pg_trgm')"
  return [extension, `do $body$ begin if ${isThere} then ${indexes.join(" ")} end if; end $body$`]
}

/** Trigrams of names and comments, so that a search for a rare word need not scan all rows. */
export const searchMigration: Migration = {
  version: 10,
  name: "search",
  statements: (dialect: Dialect) => [...refolded, ...versions(dialect), ...(dialect === "sqlite" ? sqlite() : postgres())],
}
