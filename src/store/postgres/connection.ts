import pg from "pg"
import type { Logger } from "#kit"
import type { QueryCompiler } from "../queries/query-compiler.ts"

/**
 * Held by whoever writes, from the first statement of a transaction to its end; all processes use
 * this one number.
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

/** Settings of a connection. Numbers of 64 bits come as numbers: none of ours is beyond 2^53. */
export function connection({ url, timeoutMs }: PostgresDriverOptions): pg.ClientConfig {
  return {
    connectionString: url,
    application_name: "quayside",
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
    // Our queries are short: compiling one, when many rows are expected, takes longer than all of
    // them.
    options: "-c jit=off",
    statement_timeout: timeoutMs,
    lock_timeout: timeoutMs,
    idle_in_transaction_session_timeout: 2 * timeoutMs,
    query_timeout: 2 * timeoutMs,
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") => (oid === 20 ? Number : pg.types.getTypeParser(oid, format as "text")),
    },
  } as pg.ClientConfig
}
