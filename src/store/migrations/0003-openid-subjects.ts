import type { Migration } from "./migration.ts"

/**
 * Which person belongs to whom at an OpenID provider. A subject is never given to another person,
 * so neither is a row here.
 */
export const openidSubjects: Migration = {
  version: 3,
  name: "openid subjects",
  statements: () => [
    "create table openid_subjects (issuer $text not null, subject $text not null, user_id $int not null references users, created_at $int not null, primary key (issuer, subject)) $keyed",
    "create index openid_subjects_user on openid_subjects (user_id)",
  ],
}
