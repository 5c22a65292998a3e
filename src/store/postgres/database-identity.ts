import type pg from "pg"
import type { IdentityCheck } from "../database-identity.ts"

/**
 * The identity of a PostgreSQL database: its server and its number there. A dump that is read into
 * another database is a copy; one that is read into the same, a restoration.
 */
export async function databaseIdentityOf(client: pg.Client): Promise<IdentityCheck> {
  const { rows } = await client.query(
    "select (select system_identifier::text from pg_control_system()) as machine, oid::text as oid, datname = current_database() as is_here from pg_database",
  )
  const here = rows.find((row) => row.is_here)
  const kept = new Set(rows.map((row) => row.oid))
  return { here: { machine: here.machine, path: here.oid, mark: `${here.machine}/${here.oid}` }, exists: ({ path }) => kept.has(path) }
}
