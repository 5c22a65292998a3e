import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import pg from "pg"
import type { TestServer } from "../test-server.ts"

export interface Mounted {
  source: string
  target: string
  readOnly: boolean
}

/** A run's mounts in the database: no response contains the sources of mounts. */
export async function mountsOf(server: Pick<TestServer, "dataDir" | "databaseUrl">, run: number): Promise<Mounted[]> {
  return (JSON.parse(await specOf(server, run)) as { mounts: Mounted[] }).mounts
}

/** The environment variables of a run's image, as the database has them: no answer shows them. */
export async function imageEnvOf(server: Pick<TestServer, "dataDir" | "databaseUrl">, run: number): Promise<Record<string, string>> {
  return (JSON.parse(await specOf(server, run)) as { env: Record<string, string> }).env
}

/** The directories that a run's image lets it write to, as the database has them. */
export async function writablePathsOf(server: Pick<TestServer, "dataDir" | "databaseUrl">, run: number): Promise<string[]> {
  return (JSON.parse(await specOf(server, run)) as { writablePaths?: string[] }).writablePaths ?? []
}

/** The image that a run must have, as the database has it. */
export async function imageDigestsOf(server: Pick<TestServer, "dataDir" | "databaseUrl">, run: number) {
  return JSON.parse(await specOf(server, run)) as { imageDigest?: string; registryDigest?: string }
}

async function specOf({ dataDir, databaseUrl }: Pick<TestServer, "dataDir" | "databaseUrl">, run: number): Promise<string> {
  const query = `select spec from runs where id = ${run}`
  if (databaseUrl === undefined) {
    using database = new DatabaseSync(join(dataDir, "quayside.db"), { readOnly: true })
    return String(database.prepare(query).get()?.spec)
  }
  const client = new pg.Client(databaseUrl)
  await client.connect()
  try {
    return String((await client.query(query)).rows[0]?.spec)
  } finally {
    await client.end()
  }
}
