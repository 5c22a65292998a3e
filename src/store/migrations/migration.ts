export type Dialect = "sqlite" | "postgres"

/**
 * One step forwards, run in one transaction together with its record. What is released is never
 * changed again. `$id`, `$int`, `$text` and `$keyed` (a table found by its primary key alone) stand
 * for the dialect's own words.
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
 * SQLite keeps a value of any type in any column unless the table is strict; PostgreSQL never does.
 */
function strict(statement: string): string {
  if (!statement.startsWith("create table")) return statement
  return statement.trimEnd().endsWith("without rowid") ? `${statement.trimEnd()}, strict` : `${statement.trimEnd()} strict`
}
