import { randomBytes } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import pg from "pg"
import { basicAuth, bearerAuth, type Client, createClient } from "#client"
import { type Logger, silentLogger } from "#kit"
import { type ComposeOptions, compose, type Quayside, readSettings } from "#main"
import { freePorts } from "./fixtures/free-ports.ts"
import { cheapHashCost } from "./fixtures/identity.ts"

export const adminPassword = "correct horse battery"

/**
 * A whole installation in this process, on free ports with its own directory: real store, files and
 * gateway. The engine is the fake one by default.
 */
export interface TestServer extends AsyncDisposable {
  readonly quayside: Quayside
  readonly dataDir: string
  /** Of the PostgreSQL database; undefined on SQLite. */
  readonly databaseUrl: string | undefined
  readonly admin: Client
  /** Creates a person with the password `NAME-password`. */
  person(userName: string, fields?: object): Promise<Person>
  /** Creates a group of these people, so that they may grant things to each other by name. */
  acquaint(...people: readonly { userName: string }[]): Promise<void>
  /** Stops and restarts on the same ports and data. */
  restart(): Promise<void>
}

export interface Person {
  readonly userName: string
  readonly password: string
  readonly authorization: string
  readonly client: Client
}

/** Passwords are hashed at a cost that only tests can afford, unless `more` says otherwise. */
export async function startTestServer(
  options: Readonly<Record<string, string>> = {},
  logger: Logger = silentLogger,
  accessLog?: (line: string) => void,
  more: Pick<ComposeOptions, "hashing" | "supervision" | "gpuToolPath"> = {},
): Promise<TestServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "quayside-test-"))
  const [port, appsPort, filesPort] = (await freePorts(3)).map(String) as [string, string, string]
  const database = process.env.TEST_POSTGRES ? await newDatabase(process.env.TEST_POSTGRES) : undefined
  const settings = readSettings({
    env: {},
    file: undefined,
    warn: () => {},
    options: {
      engine: "fake",
      port,
      "apps-port": appsPort,
      "files-port": filesPort,
      "data-dir": dataDir,
      "admin-password": adminPassword,
      ...(database ? { "database-url": database.url } : {}),
      ...options,
    },
  })
  const hashing = { cost: cheapHashCost }
  const start = () =>
    compose({ settings, version: "0.0.0", logger, ...(accessLog ? { accessLog } : {}), announcePassword: () => {}, hashing, ...more })
  let quayside = await start()
  const { baseUrl } = quayside
  const admin = createClient({ baseUrl, authorization: basicAuth("admin", adminPassword) })
  return {
    get quayside() {
      return quayside
    },
    dataDir,
    databaseUrl: database?.url,
    admin: createClient({ baseUrl, authorization: bearerAuth((await admin.createToken({ body: { Name: "test" } })).Token) }),
    async person(userName, fields = {}) {
      const password = `${userName}-password`
      await admin.createUser({ body: { UserName: userName, Password: password, ...fields } })
      const created = await createClient({ baseUrl, authorization: basicAuth(userName, password) }).createToken({ body: { Name: "test" } })
      const authorization = bearerAuth(created.Token)
      return { userName, password, authorization, client: createClient({ baseUrl, authorization }) }
    },
    async acquaint(...people) {
      await admin.createGroup({
        body: { GroupName: `acquaintances-${randomBytes(4).toString("hex")}`, Members: people.map((each) => each.userName) },
      })
    },
    async restart() {
      await quayside[Symbol.asyncDispose]()
      quayside = await start()
    },
    async [Symbol.asyncDispose]() {
      await quayside[Symbol.asyncDispose]()
      await database?.drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/**
 * Creates an empty database on the server with this URL. Its user must be allowed to create
 * databases.
 */
export async function newDatabase(server: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `quayside_world_${randomBytes(6).toString("hex")}`
  const execute = async (statement: string) => {
    const client = new pg.Client({ connectionString: server })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }
  await execute(`create database ${name} template template0 encoding 'UTF8'`)
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, drop: () => execute(`drop database ${name} with (force)`) }
}
