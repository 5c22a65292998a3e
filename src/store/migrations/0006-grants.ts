import type { Migration } from "./migration.ts"

/**
 * Rights on one resource, granted to a person or to a group; the column of the other is 0.
 * `owner_id` and `is_live` are copied from the resource's row, so that a list of grants reads no
 * other table. `moves` contains directories that are being moved to another owner.
 */
export const grantsMigration: Migration = {
  version: 6,
  name: "grants",
  statements: () => [
    "create table grants (id $id, created_at $int not null, updated_at $int not null, version $int not null, thing_type $text not null, thing_id $int not null, owner_id $int not null references users, is_live $int not null, user_id $int not null, group_id $int not null, access $text not null, expires_at $int, created_by $int not null references users)",
    "create unique index grants_thing on grants (thing_type, thing_id, user_id, group_id)",
    "create index grants_user on grants (user_id, thing_type, thing_id, expires_at) where user_id <> 0",
    "create index grants_group on grants (group_id, thing_type, thing_id, expires_at) where group_id <> 0",
    "create index grants_owner on grants (owner_id, id) where is_live = 1",
    "create index grants_live on grants (id) where is_live = 1",
    "create index grants_expiry on grants (expires_at) where expires_at is not null",
    "create table moves (data_id $int not null references datasets, from_path $text not null, to_path $text not null, primary key (data_id)) $keyed",
  ],
}
