import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { Agent, request } from "node:http"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { basicAuth } from "#client"
import { type Installation, openInstallation } from "./installation.ts"

const requests = 1_000
/** The shortest query, with its parameters, has about as many. */
const bytesOfQuery = 50

let installation: Installation
let database: CountedDatabase
before(async () => {
  installation = await openInstallation()
  database = await countedDatabase(installation.databaseUrl)
  await installation.start("api")
  await Promise.all([
    installation.start("supervisor"),
    installation.startWith({ env: { QUAYSIDE_DATABASE_URL: database.url } }, "gateway"),
    installation.startWith({ env: { QUAYSIDE_DATABASE_URL: database.url } }, "files"),
  ])
})
after(async () => {
  const { data } = await installation.admin.listRuns({ query: { pageSize: 100 } })
  await Promise.all(data.map(({ ID }) => installation.admin.stopRun({ query: { ID } })))
  await installation[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

interface CountedDatabase extends AsyncDisposable {
  readonly url: string
  /** Bytes that went to the database so far. */
  sent(): number
}

/** Passes connections on to the database's socket. */
async function countedDatabase(databaseUrl: string): Promise<CountedDatabase> {
  const directory = await mkdtemp(join(tmpdir(), "quayside-counted-"))
  const url = new URL(databaseUrl)
  const path = join(url.searchParams.get("host") ?? "", ".s.PGSQL.5432")
  const sockets = new Set<Socket>()
  let sent = 0
  const server = createServer((client) => {
    const upstream = connect(path)
    client.on("data", (chunk) => {
      sent += chunk.length
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on("error", () => {}).on("close", () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(join(directory, ".s.PGSQL.5432"), resolve))
  url.searchParams.set("host", directory)
  return {
    url: url.href,
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      await rm(directory, { recursive: true })
    },
  }
}

const agent = new Agent({ keepAlive: true, maxSockets: 4 })

async function statusOf(method: string, url: string, body?: string): Promise<number | undefined> {
  const headers = { authorization: basicAuth("admin", installation.password) }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent }, (answer) => {
      answer.resume().once("end", () => resolve(answer.statusCode))
    })
    sent.once("error", reject).end(body)
  })
}

/** Bytes to the database for each of many requests. */
async function bytesForEach(ask: (n: number) => Promise<number | undefined>, expected: number): Promise<number> {
  assert.equal(await ask(-1), expected)
  const before = database.sent()
  const answers: (number | undefined)[] = []
  for (let n = 0; n < requests; n += 4) answers.push(...(await Promise.all([0, 1, 2, 3].map((more) => ask(n + more)))))
  assert.deepEqual(new Set(answers), new Set([expected]))
  return (database.sent() - before) / requests
}

test("a gateway answers requests without a query for each", async () => {
  const { admin, appsUrl } = installation
  const { ID: ImageID } = await admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "App", ImageID, Type: "http", Datas: [] } })
  const { ID } = await admin.startRun({ body: { ProjectID, CPUs: 1, Memory: 128 } })
  const bytes = await bytesForEach((n) => statusOf("GET", `${appsUrl}/run/${ID}/echo?n=${n}`), 200)
  assert.ok(bytes < bytesOfQuery, `${bytes} bytes went to the database for each request`)
})

test("a files process answers requests without a query for each", async () => {
  const url = (n: number) => `${installation.filesUrl}/users/admin/file-${n}.txt`
  const written = await bytesForEach((n) => statusOf("PUT", url(n), "some"), 201)
  const read = await bytesForEach((n) => statusOf("GET", url(n)), 200)
  for (const bytes of [written, read]) assert.ok(bytes < bytesOfQuery, `${bytes} bytes went to the database for each request`)
})
