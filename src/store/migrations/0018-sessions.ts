import type { Dialect, Migration } from "./migration.ts"

/**
 * Sessions get an ID, by which people end them, and what they are recognized by. On SQLite a table
 * without row IDs can get none, so it is made anew.
 */
export const sessionsMigration: Migration = {
  version: 18,
  name: "sessions",
  statements: (dialect: Dialect) => [
    ...(dialect === "sqlite" ? onSqlite : onPostgres),
    "create index sessions_user on sessions (user_id, id)",
  ],
}

const added = ["last_used_at $int", "address $text not null default ''", "browser $text not null default ''"]

const onSqlite = [
  `create table new_sessions (id $id, hash $text not null unique, user_id $int not null references users, created_at $int not null, expires_at $int not null, ${added.join(", ")})`,
  "insert into new_sessions (hash, user_id, created_at, expires_at) select hash, user_id, created_at, expires_at from sessions order by created_at",
  "drop table sessions",
  "alter table new_sessions rename to sessions",
  "create index sessions_expiry on sessions (expires_at)",
]

const onPostgres = [
  "alter table sessions add column id bigint generated always as identity unique",
  ...added.map((column) => `alter table sessions add column ${column}`),
  "drop index sessions_user",
]
