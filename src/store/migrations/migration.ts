export type Dialect = "sqlite" | "postgres"

/**
 * One step forward, which runs in one transaction together with its record. A released migration
 * never changes. `$id`, `$int`, `$text` and `$keyed` (a table that is read by its primary key
 * alone) stand for the dialect's own types.
 */
export interface Migration {
  version: number
  name: string
  statements(dialect: Dialect): readonly string[]
}

const words: Record<Dialect, Record<string, string>> = {
  sqlite: { $id: "integer primary key autoincrement", $int: "integer", $text: "text", $keyed: "without rowid" },
  postgres: { $id: "bigint generated always as identity primary key", $int: "bigint", $text: 'text collate "C"', $keyed: "" },
}

export function statementsOf(migration: Migration, dialect: Dialect): string[] {
  return migration.statements(dialect).map((text) => {
    const statement = text.replace(/\$(?:id|int|text|keyed)\b/g, (word) => words[dialect][word] ?? word)
    return dialect === "sqlite" ? strict(statement) : statement
  })
}

/**
 * SQLite stores values of any type in any column unless the table is strict; PostgreSQL never does.
 */
function strict(statement: string): string {
  if (!statement.startsWith("create table")) return statement
  return statement.trimEnd().endsWith("without rowid") ? `${statement.trimEnd()}, strict` : `${statement.trimEnd()} strict`
}
