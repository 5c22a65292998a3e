import { readFileSync, statSync } from "node:fs"
import { hostname } from "node:os"
import type { DatabaseIdentity, IdentityCheck } from "../database-identity.ts"

/**
 * The file that the server holds while it has a database open. It stays where it is whatever
 * becomes of the database, and a copy of it is another file.
 */
export const lockPath = (file: string) => `${file}.lock`

/** The identity of an SQLite database, by its file; its lock exists already. */
export function databaseIdentityOf(file: string): IdentityCheck {
  const machine = machineName()
  return {
    here: { machine, path: file, mark: lockMark(file) ?? "" },
    exists: (place: DatabaseIdentity) => place.mark !== "" && lockMark(place.path) === place.mark,
  }
}

function lockMark(file: string): string | undefined {
  const found = statSync(lockPath(file), { bigint: true, throwIfNoEntry: false })
  return found && `${found.ino}-${found.birthtimeNs}`
}

function machineName(): string {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim() || hostname()
  } catch {
    return hostname()
  }
}
