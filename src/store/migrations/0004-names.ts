import type { Migration } from "./migration.ts"

const resources = ["images", "datasets", "projects"]
const userName = "coalesce((select users.user_name from users where users.id = $.user_id), '')"
const groupName = "coalesce((select groups.group_name from groups where groups.id = $.group_id), '')"

/**
 * Rows copy the names of their people and groups: names never change, and lists are read far more
 * often than resources are transferred.
 */
function carry(table: string, column: string, found: string): string[] {
  return [
    `alter table ${table} add column ${column} $text not null default ''`,
    `update ${table} set ${column} = ${found.replaceAll("$", table)}`,
  ]
}

/** All live rows of one owner in the order of IDs. */
const owned = (table: string) => `create index ${table}_owned on ${table} (user_id, id) where deleted_at is null`

export const namesMigration: Migration = {
  version: 4,
  name: "names",
  statements: () => [
    ...[...resources, "runs"].flatMap((table) => carry(table, "user_name", userName)),
    ...carry("projects", "group_name", groupName),
    ...resources.map(owned),
  ],
}
