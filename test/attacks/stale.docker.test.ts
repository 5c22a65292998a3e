import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { connect, type Socket } from "node:net"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { basicAuth, type Client, createClient } from "#client"
import { type DockerSocket, openDockerSocket } from "../fixtures/docker/docker-socket.ts"
import { eventually } from "../fixtures/eventually.ts"
import { kernelNames } from "../fixtures/kernel-names.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"

/*
 * A run's container goes behind the server's back, and another one has its address before the
 * server can learn of it: the daemon is held back, as one is that has much to do. Everybody
 * who may open the run asks for it meanwhile in every way that there is.
 */

const exec = promisify(execFile)
const docker = async (...words: string[]) => (await exec("docker", words)).stdout.trim()
const canary = "what-bob-says"

/**
 * A server that prints what it is told and says its name, over HTTP and, after an upgrade, as
 * bytes.
 */
const printing = (name: string) => [
  "python3",
  "-c",
  `
import socket, threading
def serve(c):
  f = c.makefile('rb')
  while True:
    heard = f.readline()
    if not heard: return
    length, upgraded = 0, False
    while True:
      line = f.readline()
      heard += line
      if line in (b'\\r\\n', b''): break
      field, _, value = line.partition(b':')
      if field.lower() == b'upgrade': upgraded = True
      if field.lower() == b'content-length': length = int(value)
    heard += f.read(length)
    print('heard', heard, flush=True)
    if upgraded:
      c.sendall(b'HTTP/1.1 101 x\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\nprogram ${name}')
      while True:
        heard = f.read1()
        if not heard: return
        print('heard', heard, flush=True)
        c.sendall(b'program ${name}')
    c.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\nprogram ${name}' % len(b'program ${name}'))
s = socket.create_server(('', 8000))
while True: threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
`,
]

let socket: DockerSocket
let server: ServerProcess
let ann: Client
// Selects containers by name: other tests may use Docker at the same time.
const names = { ann: `ann-${process.pid}`, bob: `bob-${process.pid}` }
const password = "choose a better one"
let project = 0

before(async () => {
  socket = await openDockerSocket()
  server = await startServerProcess({ QUAYSIDE_ENGINE: "docker", QUAYSIDE_DOCKER_SOCKET: socket.path, QUAYSIDE_LOG_LEVEL: "error" })
  const { baseUrl } = server
  const admin = createClient({ baseUrl, authorization: basicAuth("admin", server.password) })
  for (const UserName of Object.values(names)) await admin.createUser({ body: { UserName, Password: password } })
  await admin.createGroup({ body: { GroupName: `both-${process.pid}`, Members: Object.values(names) } })
  ann = createClient({ baseUrl, authorization: basicAuth(names.ann, password) })
  const image = await admin.createImage({
    body: { Name: "says", Image: "quayside/python-app", Command: JSON.stringify(printing("shared")), Port: "8000", IsPublished: true },
  })
  project = (await ann.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })).ID
})
after(async () => {
  socket?.release()
  await server?.[Symbol.asyncDispose]()
  await socket?.[Symbol.asyncDispose]()
})

/** Bob's clients: one reuses its connection, the other does not. */
class BrowserSession implements Disposable {
  readonly #url: URL
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #tunnels: Socket[] = []
  /** All data that Bob received. */
  received = ""

  constructor(url: string) {
    this.#url = new URL(url)
  }

  ask(method: string, isKept: boolean): Promise<string> {
    return new Promise((resolve) => {
      const end = (text: string) => {
        this.received += text
        resolve(text)
      }
      const options = { method, headers: { authorization: basicAuth(names.bob, password) }, agent: isKept ? this.#agent : (false as const) }
      const outgoing = request(this.#url, options, async (answer) => {
        const parts = await Array.fromAsync(answer as AsyncIterable<Buffer>).catch(() => [])
        end(`${answer.statusCode} ${Buffer.concat(parts)}`)
      })
      outgoing.on("error", (error) => end(String(error)))
      outgoing.end(method === "POST" ? canary : undefined)
    })
  }

  /** Requests an upgrade; resolves with the first data. */
  async upgrade(): Promise<Socket> {
    const tunnel = connect(Number(this.#url.port), this.#url.hostname)
    this.#tunnels.push(tunnel)
    tunnel.on("data", (chunk) => (this.received += chunk)).on("error", () => {})
    const authorization = `Authorization: ${basicAuth(names.bob, password)}\r\n`
    const handshake = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n`
    const head = `GET ${this.#url.pathname}?${canary} HTTP/1.1\r\nHost: ${this.#url.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
    tunnel.write(`${head}${handshake}${authorization}\r\n`)
    await Promise.race([once(tunnel, "data"), once(tunnel, "close")])
    return tunnel
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
    for (const tunnel of this.#tunnels) tunnel.destroy()
  }
}

const labelsOfARun = () => [
  ...["key", "run=999", "project=999"].map((word) => `quayside.${word === "key" ? `key=${randomBytes(16).toString("hex")}` : word}`),
  `quayside.user=${names.bob}`,
]
const intruders: [what: string, labels: () => string[]][] = [
  ["a container of nobody's", () => []],
  ["what looks like another run", labelsOfARun],
]
for (const [what, labels] of intruders) {
  test(`no data passes between a run's visitors and ${what} that takes its address before the server learns of its end`, async () => {
    const run = await ann.startRun({ body: { ProjectID: project } })
    await ann.createGrant({ body: { RunID: run.ID, UserName: names.bob, Access: "use" } })
    using session = new BrowserSession(String(run.URL))
    for (const isKept of [true, false]) assert.equal(await session.ask("GET", isKept), "200 program shared")
    const tunnel = await session.upgrade()
    await eventually("the tunnel is open", () => session.received.endsWith("\r\n\r\nprogram shared"))

    const container = await docker("ps", "--quiet", "--filter", `label=quayside.user=${names.ann}`)
    const [{ Config, NetworkSettings }] = JSON.parse(await docker("inspect", container))
    const [[network, { IPAddress }]] = Object.entries(NetworkSettings.Networks) as [[string, { IPAddress: string }]]
    socket.hold()
    await docker("rm", "--force", container)
    const all = labels().length === 0 ? [] : [...labels(), `quayside.instance=${Config.Labels["quayside.instance"]}`]
    const networkOptions = ["--network", network, "--ip", IPAddress, ...all.flatMap((label) => ["--label", label])]
    const intruder = await docker("run", "--detach", "--user", "1000", ...networkOptions, "quayside/python-app", ...printing("intruder"))
    try {
      // Like Quayside's own process.
      process.setgroups?.([...(process.getgroups?.() ?? []), kernelNames(Config.Labels["quayside.instance"]).gid])
      const direct = `http://${IPAddress}:8000/direct`
      await eventually("the intruder answers there", async () => (await textAt(direct)) === "program intruder")
      tunnel.write(canary)
      const answers: string[] = []
      for (const method of ["GET", "POST"]) for (const isKept of [true, false]) answers.push(await session.ask(method, isKept))
      await session.upgrade()
      assert.deepEqual(
        answers.map((text) => text.slice(0, 4)),
        ["503 ", "503 ", "503 ", "503 "],
      )
      assert.doesNotMatch(session.received, /intruder/)
      const log = await docker("logs", intruder)
      assert.match(log, /GET \/direct/)
      assert.equal(log.match(/heard/g)?.length, log.match(/GET \/direct/g)?.length, log)
      assert.equal((await ann.readRun({ query: { ID: run.ID } })).State, "ready", "the server has not learnt of it")
    } finally {
      socket.release()
      await docker("rm", "--force", intruder)
    }
    await eventually("the run has ended", async () => (await ann.readRun({ query: { ID: run.ID } })).State === "ended", 60_000)
    assert.match(await session.ask("GET", true), /^404 /)
  })
}

async function textAt(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined)
  return response ? response.text() : ""
}
