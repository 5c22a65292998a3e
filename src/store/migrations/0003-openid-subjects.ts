import type { Migration } from "./migration.ts"

/**
 * The people behind the subjects of OpenID providers. A subject never changes its person, so rows
 * stay for ever.
 */
export const openidSubjectsMigration: Migration = {
  version: 3,
  name: "openid subjects",
  statements: () => [
    "create table openid_subjects (issuer $text not null, subject $text not null, user_id $int not null references users, created_at $int not null, primary key (issuer, subject)) $keyed",
    "create index openid_subjects_user on openid_subjects (user_id)",
  ],
}
