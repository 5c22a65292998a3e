import pg from "pg"
import type { Logger } from "#kit"
import type { QueryCompiler } from "../queries/query-compiler.ts"

/**
 * The lock of the only writer, from the first statement of a transaction to its end. All processes
 * use this number.
 */
export const writeLock = "select pg_advisory_xact_lock(1903518073)"

export interface PostgresDriverOptions {
  url: string
  logger: Logger
  compiler: QueryCompiler
  timeoutMs: number
  /** Connections for reads. Default 10. */
  readers?: number
}

const minIdleMs = 1_000

/** The settings of a connection. It returns 64-bit numbers as numbers: none is beyond 2^53. */
export function connectionOptions({ url, timeoutMs }: PostgresDriverOptions): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: "quayside",
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // The queries are short: JIT compilation, which PostgreSQL uses if it expects many rows, takes
    // longer than they do.
    options: "-c jit=off",
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
    // A process that hangs in a change has the lock of all writers. Statements of a change follow
    // each other at once, so it is given up soon, before another process takes over its lease.
    idle_in_transaction_session_timeout: Math.max(minIdleMs, timeoutMs / 2),
    query_timeout: 2 * timeoutMs,
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as "text")),
    },
  } as pg.ClientConfig
}
