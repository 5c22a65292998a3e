// Attacks of an ordinary person through the API, the files address and the control channel.
import { WebSocket } from "ws"
import { connectControl, controlProtocols, type Multiplexer, openExec, openForward } from "#channel"
import { basicAuth, type Client, createClient } from "#client"
import type { ServerProcess } from "../../test/server-process.ts"
import type { Attack } from "./attack.ts"

const password = "correct horse battery"

export interface Attacker {
  client: Client
  headers: Record<string, string>
  server: ServerProcess
}

async function createAttacker(server: ServerProcess): Promise<Attacker> {
  const { baseUrl } = server
  const admin = createClient({ baseUrl, authorization: basicAuth("admin", server.password) })
  await admin.createUser({ body: { UserName: "eve", Password: password } })
  const { Token } = await createClient({ baseUrl, authorization: basicAuth("eve", password) }).createToken({ body: { Name: "attack" } })
  const authorization = `Bearer ${Token}`
  return { client: createClient({ baseUrl, authorization }), headers: { authorization }, server }
}

/** Repeats some work `width` times at once, until it is disposed. */
export function repeat(width: number, work: () => Promise<unknown>): Disposable {
  let isOver = false
  const loop = async () => {
    while (!isOver) {
      await work().catch(() => {})
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  for (let n = 0; n < width; n += 1) void loop()
  return {
    [Symbol.dispose]() {
      isOver = true
    },
  }
}

interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: string
}

/** Sends a request and reads its answer to the end. */
export async function send({ headers }: Attacker, url: string, options: Sent = {}): Promise<void> {
  const response = await fetch(url, { ...options, headers: { ...headers, ...options.headers } })
  await response.arrayBuffer()
}

const json = { "content-type": "application/json" }

export function attack(name: string, begin: (attacker: Attacker) => Disposable | Promise<Disposable>): Attack {
  return { name, begin: async (server) => begin(await createAttacker(server)) }
}

/** 100 projects with the longest texts. */
async function createLongTexts({ client }: Attacker): Promise<void> {
  const { ID: ImageID } = await client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  for (let n = 0; n < 100; n += 1)
    await client.createProject({ body: { ProjectName: `p${n}`, Type: "http", ImageID, Doc: '"'.repeat(250_000) } })
}

async function startRun({ client }: Attacker) {
  const { ID: ImageID } = await client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  return client.startRun({ body: { ProjectID } })
}

/** As many control connections to a run, with some work on each. */
async function onControlConnections(attacker: Attacker, count: number, work: (connection: Multiplexer) => void): Promise<Disposable> {
  const { ControlURL } = await startRun(attacker)
  const { headers } = attacker
  const opened = Array.from({ length: count }, () => connectControl(new WebSocket(ControlURL, [...controlProtocols], { headers })))
  const connections = await Promise.all(opened)
  for (const connection of connections) work(connection)
  return {
    [Symbol.dispose]() {
      for (const connection of connections) connection.close(1000, "")
    },
  }
}

async function readAll(connection: Multiplexer): Promise<void> {
  const program = openExec(connection, { command: ["yes", "x".repeat(30)] })
  for await (const _ of program.output) if (connection.isClosed) return
}

const elements = Array.from({ length: 250 }, (_, n) => `<x:p${n}/>`).join("")
const propfind = `<propfind xmlns="DAV:" xmlns:x="${"n".repeat(1_000)}"><prop>${elements}</prop></propfind>`
const openQuote = `A="${"\n".repeat(65_000)}`

export const attacks: readonly Attack[] = [
  attack("lists of 25 MB, 32 at once", async (attacker) => {
    await createLongTexts(attacker)
    return repeat(32, () => send(attacker, `${attacker.server.baseUrl}/projects?pageSize=200`))
  }),
  attack("lists of 25 MB that nobody reads, 32 at once", async (attacker) => {
    await createLongTexts(attacker)
    const leaving = new AbortController()
    const { headers, server } = attacker
    for (let n = 0; n < 32; n += 1)
      void fetch(`${server.baseUrl}/projects?pageSize=200`, { headers, signal: leaving.signal }).catch(() => {})
    return { [Symbol.dispose]: () => leaving.abort() }
  }),
  attack("PROPFIND of 250 names in a long namespace, 32 at once", async (attacker) => {
    const home = `${attacker.server.filesUrl}/users/eve`
    for (let n = 0; n < 300; n += 1) await send(attacker, `${home}/f${n}`, { method: "PUT", body: "x" })
    return repeat(32, () => send(attacker, `${home}/`, { method: "PROPFIND", headers: { depth: "1" }, body: propfind }))
  }),
  attack("images whose `Env` is an open quote and 65,000 line ends, 16 at once", (attacker) =>
    repeat(16, () =>
      send(attacker, `${attacker.server.baseUrl}/image`, {
        method: "POST",
        headers: json,
        body: JSON.stringify({ Name: "i", Image: "fake/ready", Env: openQuote }),
      }),
    ),
  ),
  attack("bodies of 4 MiB, 32 at once", (attacker) => {
    const body = JSON.stringify({ ProjectName: "p", Type: "http", Doc: "\u00e9".repeat(2_000_000) })
    return repeat(32, () => send(attacker, `${attacker.server.baseUrl}/project`, { method: "POST", headers: json, body }))
  }),
  attack("failed starts, 32 at once", async (attacker) => {
    const { client, server } = attacker
    const { ID: ImageID } = await client.createImage({ body: { Name: "i", Image: "fake/missing" } })
    const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
    return repeat(32, () =>
      send(attacker, `${server.baseUrl}/running_project`, { method: "POST", headers: json, body: JSON.stringify({ ProjectID }) }),
    )
  }),
  attack("searches, 100 at once", async (attacker) => {
    await createLongTexts(attacker)
    return repeat(100, () => send(attacker, `${attacker.server.baseUrl}/projects?q=${"p ".repeat(30).replaceAll(" ", "+")}x`))
  }),
  attack("event streams from the first event on, opened again and again", (attacker) => {
    const { headers, server } = attacker
    return repeat(32, async () => {
      const response = await fetch(`${server.baseUrl}/events`, { headers: { ...headers, "last-event-id": "1" } })
      await response.body?.cancel()
    })
  }),
  attack("uploads of 1 MiB, 64 at once", (attacker) => {
    let n = 0
    const body = "x".repeat(1_048_576)
    return repeat(64, () => send(attacker, `${attacker.server.filesUrl}/users/eve/u${n++ % 64}`, { method: "PUT", body }))
  }),
  attack("copies of a file of 1 MiB, 64 at once", async (attacker) => {
    const home = `${attacker.server.filesUrl}/users/eve`
    await send(attacker, `${home}/f`, { method: "PUT", body: "x".repeat(1_048_576) })
    let n = 0
    return repeat(64, () => send(attacker, `${home}/f`, { method: "COPY", headers: { destination: `${home}/c${n++ % 64}` } }))
  }),
  attack("directories made and deleted, 64 at once", (attacker) => {
    let n = 0
    return repeat(64, async () => {
      const url = `${attacker.server.filesUrl}/users/eve/d${n++}`
      await send(attacker, url, { method: "MKCOL" })
      await send(attacker, url, { method: "DELETE" })
    })
  }),
  attack("resumable uploads of 1 KiB, 64 at once", (attacker) => {
    let n = 0
    const tus = { "tus-resumable": "1.0.0" }
    return repeat(64, async () => {
      const url = `${attacker.server.filesUrl}/users/eve/t${n++ % 64}`
      const headers = { ...tus, "upload-length": "1024" }
      const begun = await fetch(url, { method: "POST", headers: { ...attacker.headers, ...headers } })
      await begun.arrayBuffer()
      const rest = { ...tus, "content-type": "application/offset+octet-stream", "upload-offset": "0" }
      await send(attacker, new URL(begun.headers.get("location") ?? "", url).href, {
        method: "PATCH",
        headers: rest,
        body: "x".repeat(1_024),
      })
    })
  }),
  attack("8 control connections with 16 programs each that print as fast as they can", (attacker) =>
    onControlConnections(attacker, 8, (connection) => {
      for (let n = 0; n < 16; n += 1) void readAll(connection).catch(() => {})
    }),
  ),
  attack("32 control connections with 16 programs each whose output nobody reads", (attacker) =>
    onControlConnections(attacker, 32, (connection) => {
      for (let n = 0; n < 16; n += 1) openExec(connection, { command: ["yes"] })
    }),
  ),
  attack("forwarded connections to a closed port, 64 at once", async (attacker) => {
    const { ControlURL } = await startRun(attacker)
    const connection = await connectControl(new WebSocket(ControlURL, [...controlProtocols], { headers: attacker.headers }))
    const loop = repeat(64, () => openForward(connection, 9).accepted)
    return {
      [Symbol.dispose]() {
        loop[Symbol.dispose]()
        connection.close(1000, "")
      },
    }
  }),
]
