import { type PostgresServer as PlainServer, postgresServer as startServer } from "../../../test/fixtures/postgres-server.ts"
import { type MakeDatabase, testDatabase } from "./databases.ts"

export { newestBinaries } from "../../../test/fixtures/postgres-server.ts"

/** A PostgreSQL server for one test file. */
export interface PostgresServer extends PlainServer {
  /** Makes an empty database. */
  readonly make: MakeDatabase
}

/** As the fixture says. */
export async function postgresServer(): Promise<PostgresServer> {
  const server = await startServer()
  const make: MakeDatabase = async () => {
    const database = await server.makeDatabase()
    return testDatabase(database.url, async () => database[Symbol.asyncDispose]())
  }
  return { ...server, make }
}
