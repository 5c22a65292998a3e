import type { Dialect, Migration } from "./migration.ts"

const longTexts = {
  images: ["command", "env", "doc"],
  datasets: ["access_info", "doc"],
  projects: ["user_path", "code_path", "model_path", "doc"],
  runs: ["spec"],
} as const

/**
 * Makes these columns the last ones of their table. SQLite reads a row from its beginning: for a
 * column behind a long text it reads the pages of the text as well, and columns that later
 * migrations added stand behind all others.
 */
function moveToEnd([table, columns]: [table: string, columns: readonly string[]]): string[] {
  return [
    ...columns.map((column) => `alter table ${table} add column moved_${column} $text not null default ''`),
    `update ${table} set ${columns.map((column) => `moved_${column} = ${column}`).join(", ")}`,
    ...columns.map((column) => `alter table ${table} drop column ${column}`),
    ...columns.map((column) => `alter table ${table} rename column moved_${column} to ${column}`),
  ]
}

/** PostgreSQL stores long texts outside of their rows. */
export const longTextsLastMigration: Migration = {
  version: 19,
  name: "long texts last",
  statements: (dialect: Dialect) => (dialect === "postgres" ? [] : Object.entries(longTexts).flatMap(moveToEnd)),
}
