import type { Migration } from "./migration.ts"

/** One-time codes by which a program that a person allowed gets its token. */
export const tokenCodesMigration: Migration = {
  version: 15,
  name: "token codes",
  statements: () => [
    "create table token_codes (hash $text not null primary key, user_id $int not null references users, credential_id $text not null, challenge $text not null, created_at $int not null, expires_at $int not null, name $text not null, token_expires_at $int, scopes $text not null) $keyed",
    "create index token_codes_user on token_codes (user_id)",
    "create index token_codes_expiry on token_codes (expires_at)",
  ],
}
