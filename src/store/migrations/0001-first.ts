import type { Migration } from "./migration.ts"

const stamps = "created_at $int not null, updated_at $int not null, deleted_at $int, version $int not null"
const named = "name_fold $text not null, search $text not null"

/** Columns that lists read precede long texts, so that a scan need not step over these. */
export const firstMigration: Migration = {
  version: 1,
  name: "first",
  statements: () =>
    [
      "create table users (id $id, $stamps, is_admin $int not null, is_disabled $int not null, user_name $text not null unique, password_hash $text, email $text not null, comment $text not null, limits $text not null, $named)",
      "create table groups (id $id, $stamps, group_name $text not null unique, comment $text not null, limits $text not null, total_limits $text not null, $named)",
      "create table group_members (group_id $int not null references groups, user_id $int not null references users, primary key (group_id, user_id)) $keyed",
      "create index group_members_user on group_members (user_id, group_id)",
      "create table tokens (id $id, user_id $int not null references users, created_at $int not null, expires_at $int, last_used_at $int, hash $text not null unique, name $text not null, scopes $text not null)",
      "create index tokens_user on tokens (user_id, id)",
      "create table sessions (hash $text not null primary key, user_id $int not null references users, created_at $int not null, expires_at $int not null) $keyed",
      "create index sessions_user on sessions (user_id)",
      "create index sessions_expiry on sessions (expires_at)",
      "create table images (id $id, $stamps, user_id $int not null references users, is_published $int not null, is_trusted $int not null, name $text not null, image $text not null, comment $text not null, command $text not null, env $text not null, port $text not null, $named, doc $text not null)",
      "create table datasets (id $id, $stamps, user_id $int not null references users, is_published $int not null, type $text not null, name $text not null, comment $text not null, access_info $text not null, access_key $text not null, $named, doc $text not null)",
      "create table projects (id $id, $stamps, user_id $int not null references users, group_id $int not null, is_published $int not null, is_trusted $int not null, image_id $int not null references images, type $text not null, project_name $text not null, comment $text not null, user_path $text not null, code_path $text not null, model_path $text not null, $named, doc $text not null)",
      "create table project_datasets (project_id $int not null references projects, position $int not null, data_id $int not null references datasets, mount_path $text not null, primary key (project_id, position)) $keyed",
      ...["images", "datasets", "projects"].flatMap((table) => [
        `create index ${table}_live on ${table} (id) where deleted_at is null`,
        `create index ${table}_published on ${table} (id) where is_published = 1 and deleted_at is null`,
        `create index ${table}_user on ${table} (user_id, is_published, id) where deleted_at is null`,
        `create index ${table}_bin on ${table} (user_id, id) where deleted_at is not null`,
        `create index ${table}_name on ${table} (name_fold, id) where deleted_at is null`,
        `create index ${table}_created on ${table} (created_at, id) where deleted_at is null`,
        `create index ${table}_updated on ${table} (updated_at, id) where deleted_at is null`,
      ]),
      "create index datasets_access on datasets (access_key) where deleted_at is null",
      "create index datasets_access_published on datasets (access_key) where is_published = 1 and deleted_at is null",
      "create index datasets_access_user on datasets (user_id, access_key) where deleted_at is null",
      "create index projects_group on projects (group_id, is_published, id) where deleted_at is null and group_id <> 0",
      "create index projects_image on projects (image_id, id) where deleted_at is null",
      "create index projects_type on projects (type, id) where deleted_at is null",
      `create table runs (id $id, key $text not null unique, project_id $int not null references projects, user_id $int not null references users, owner_id $int not null references users, state $text not null, wanted $text not null,
      created_at $int not null, updated_at $int not null, version $int not null, start_time $int, ready_time $int, end_time $int, last_activity $int, expires_at $int,
      nodes $int not null, cpus $int not null, memory_mib $int not null, gpus $int not null, gpu_memory_mib $int not null, node_names $text not null, gpu_devices $text not null, image_digest $text not null,
      reason $text, progress $text, spec $text not null)`,
      "create unique index runs_one_live on runs (user_id, project_id) where state not in ('ended', 'failed')",
      "create index runs_live on runs (id) where state not in ('ended', 'failed')",
      "create index runs_history on runs (id) where state in ('ended', 'failed')",
      "create index runs_user on runs (user_id, project_id, id)",
      "create index runs_owner on runs (owner_id, id)",
      "create index runs_project on runs (project_id, id)",
      "create table idempotency_keys (user_id $int not null references users, key $text not null, body_hash $text not null, run_id $int not null references runs, created_at $int not null, primary key (user_id, key)) $keyed",
      "create index idempotency_age on idempotency_keys (created_at)",
      "create table journal (id $id, at $int not null, event $text not null, thing_type $text not null, thing_id $int not null, data $text not null)",
      "create table audit (id $id, at $int not null, actor $text not null, action $text not null, thing_type $text, thing_id $int, outcome $text not null, address $text not null, request_id $text not null)",
      "create index audit_actor on audit (actor, id)",
      "create index audit_action on audit (action, id)",
      "create index audit_time on audit (at, id)",
    ].map((statement) => statement.replaceAll("$stamps", stamps).replaceAll("$named", named)),
}
