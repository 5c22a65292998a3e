import { StoreError } from "../errors.ts"

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
 * The error of a failed migration, whose message names the database. A `StoreError` is returned
 * unchanged.
 */
export function migrationError(error: unknown, database: string, { version }: Migration): unknown {
  if (error instanceof StoreError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new StoreError(
    "migration",
    `The database ${database} could not be brought to version ${version} and is as it was (${reason})`,
    error,
  )
}

/**
 * SQLite stores values of any type in any column unless the table is strict; PostgreSQL never does.
 */
function strict(statement: string): string {
  if (!statement.startsWith("create table")) return statement
  return statement.trimEnd().endsWith("without rowid") ? `${statement.trimEnd()}, strict` : `${statement.trimEnd()} strict`
}
