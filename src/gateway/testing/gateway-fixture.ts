import { createServer, type IncomingMessage, type OutgoingHttpHeaders, request, type Server, type ServerResponse } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import type { Duplex } from "node:stream"
import { type Clock, systemClock } from "#kit"
import { freePorts } from "../../../test/fixtures/free-ports.ts"
import type { PortAssignment, PortAssignments } from "../addressing/port-choice.ts"
import { createGateway, type Gateway, type GatewayOptions } from "../gateway.ts"
import type { RunDirectory, RunTarget, Visitor } from "../run-directory.ts"

export const baseUrl = "http://localhost:8080"
export const keyA = "a".repeat(32)
export const keyB = "b".repeat(32)
export const ann: Visitor = { userId: 1, credentialId: "session-1" }
export const bob: Visitor = { userId: 2, credentialId: "session-2" }

/** The headers that Chromium sends for the page of a tab. */
export const navigationHeaders = {
  "sec-fetch-dest": "document",
  "sec-fetch-mode": "navigate",
  "sec-fetch-site": "none",
  accept: "text/html",
}

/** A run directory whose answers a test sets. */
class TestRuns implements RunDirectory {
  readonly targets = new Map<string, RunTarget>()
  readonly tokens = new Map<string, Visitor>([
    ["Bearer ann", ann],
    ["Bearer bob", bob],
  ])
  readonly activity: number[] = []
  /** The rights to open runs, as `userId runId`. */
  readonly rights = new Set(["1 1", "1 2"])
  rightsChecks = 0
  mayOpenAnswer: ((visitor: Visitor, runId: number) => Promise<boolean>) | undefined

  byId(id: number): RunTarget | undefined {
    return [...this.targets.values()].find((target) => target.id === id)
  }

  byKey(key: string): RunTarget | undefined {
    return this.targets.get(key)
  }

  liveTargets(): RunTarget[] {
    return [...this.targets.values()]
  }

  readonly refusals = new Map<string, { status: 401 | 403 | 429 | 503; msg: string; retryAfterSeconds?: number }>()

  async authenticate(authorization: string) {
    const refusal = this.refusals.get(authorization)
    if (refusal) return refusal
    return this.tokens.get(authorization) ?? { status: 401 as const, msg: "Unknown user name or wrong password" }
  }

  /** Replaces the run that becomes ready in another process. */
  untilRouted: RunDirectory["untilRouted"] = () => undefined

  async canOpen(visitor: Visitor, runId: number): Promise<boolean> {
    this.rightsChecks += 1
    return this.mayOpenAnswer?.(visitor, runId) ?? this.rights.has(`${visitor.userId} ${runId}`)
  }

  readonly recordRefusal: RunDirectory["recordRefusal"] = (refusal) => this.recordedRefusals.push(refusal)
  readonly recordedRefusals: Parameters<RunDirectory["recordRefusal"]>[0][] = []

  readonly #usedTickets = new Set<string>()

  async claimTicket({ id }: { id: string }): Promise<boolean> {
    if (this.#usedTickets.has(id)) return false
    this.#usedTickets.add(id)
    return true
  }

  readonly plannedEnds = new Map<number, ReturnType<RunDirectory["endTimes"]>>()

  endTimes(runId: number): ReturnType<RunDirectory["endTimes"]> {
    return this.plannedEnds.get(runId) ?? { expiresAt: null, idleExpiresAt: null }
  }

  recordActivity(runId: number): void {
    this.activity.push(runId)
  }
}

/** A run's program with the handler of a test. */
export class TestProgram implements AsyncDisposable {
  readonly server: Server
  readonly requests: IncomingMessage[] = []
  readonly sockets = new Set<Socket>()
  connections = 0

  constructor(onRequest: (request: IncomingMessage, response: ServerResponse) => void = echo) {
    this.server = createServer((incoming, response) => {
      this.requests.push(incoming)
      onRequest(incoming, response)
    })
    this.server.on("connection", (socket: Socket) => {
      this.connections += 1
      this.sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => this.sockets.delete(socket))
    })
  }

  async listen(): Promise<{ host: string; port: number }> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve))
    return { host: "127.0.0.1", port: (this.server.address() as AddressInfo).port }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy()
    await new Promise((resolve) => this.server.close(resolve))
  }
}

/** Answers with the request in JSON. */
export function echo(incoming: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
  incoming.on("end", () => {
    const { method, url, headers, rawHeaders, rawTrailers } = incoming
    const text = JSON.stringify({ method, url, headers, rawHeaders, rawTrailers, body: Buffer.concat(chunks).toString("latin1") })
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text)
  })
}

export interface FixtureRequest {
  method?: string
  headers?: OutgoingHttpHeaders | readonly string[]
  body?: string | Buffer
  /** The port of the connection. Default: the apps URL's. */
  port?: number
}

export interface FixtureResponse {
  status: number
  headers: IncomingMessage["headers"]
  text: string
  raw: IncomingMessage
}

export interface GatewayFixtureOptions extends Partial<GatewayOptions> {
  program?: TestProgram
  prefix?: RunTarget["prefix"]
  target?: Partial<RunTarget>
  clock?: Clock
}

/**
 * A gateway on a free port, before run 1 (key `aaaa…`). Names below `localhost` are not resolved:
 * every request goes to 127.0.0.1 with a `Host`.
 */
export class GatewayFixture implements AsyncDisposable {
  readonly runs: TestRuns
  readonly gateway: Gateway
  readonly program: TestProgram
  readonly port: number
  readonly #stack: AsyncDisposableStack

  private constructor(parts: { runs: TestRuns; gateway: Gateway; program: TestProgram; port: number; stack: AsyncDisposableStack }) {
    this.runs = parts.runs
    this.gateway = parts.gateway
    this.program = parts.program
    this.port = parts.port
    this.#stack = parts.stack
  }

  static async open(options: GatewayFixtureOptions = {}): Promise<GatewayFixture> {
    await using stack = new AsyncDisposableStack()
    const program = stack.use(options.program ?? new TestProgram())
    const runs = new TestRuns()
    runs.targets.set(keyA, {
      ...aRunTarget(1, keyA),
      prefix: options.prefix ?? "strip",
      address: await program.listen(),
      ...options.target,
    })
    const [port = 0] = await freePorts(1)
    const appsUrl = options.appsUrl ?? `http://localhost:${port}`
    const clock = options.clock ?? systemClock
    const gateway = stack.use(createGateway({ runs, baseUrl, cookieKey: Buffer.alloc(32, 7), ...options, appsUrl, clock }))
    await gateway.listen([{ host: "127.0.0.1", port }])
    return new GatewayFixture({ runs, gateway, program, port, stack: stack.move() })
  }

  /** The host name and port of run 1's own origin. */
  get origin(): string {
    return `${keyA}.localhost:${this.port}`
  }

  get apps(): string {
    return `localhost:${this.port}`
  }

  get target(): RunTarget {
    return this.runs.targets.get(keyA) as RunTarget
  }

  ask(host: string, path: string, options: FixtureRequest = {}): Promise<FixtureResponse> {
    const { method = "GET", body, port = this.port } = options
    const headers = Array.isArray(options.headers) ? ["Host", host, ...options.headers] : { host, ...options.headers }
    return new Promise((resolve, reject) => {
      const outgoing = request({ host: "127.0.0.1", port, method, path, headers: headers as OutgoingHttpHeaders, agent: false })
      outgoing.on("error", reject)
      outgoing.on("response", (answer) => collect(answer).then(resolve, reject))
      outgoing.end(body)
    })
  }

  /** Sends bytes unchanged and reads until the gateway closes. */
  raw(text: string | Buffer): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>()
    const socket = connect(this.port, "127.0.0.1")
    let answer = ""
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1")
    })
    socket.on("error", () => {})
    socket.on("close", () => resolve(answer))
    socket.write(text as Buffer, "latin1")
    return promise
  }

  /** Signs a browser in by a ticket, and returns its `Cookie` header. */
  async enter(visitor: Visitor = ann, path?: string): Promise<{ cookie: string; landed: string }> {
    const started = await this.ask(this.origin, "/.quayside/start")
    const nonce = new URL(started.headers.location ?? "").searchParams.get("nonce") ?? ""
    const ticket = new URL(this.gateway.tickets.issue({ visitor, target: this.target, nonce, path }))
    const entered = await this.ask(this.origin, ticket.pathname + ticket.search, { headers: { cookie: cookiesOf(started) } })
    return { cookie: cookiesOf(entered), landed: entered.headers.location ?? "" }
  }

  /** Requests an upgrade by hand, and resolves with the response's head and the socket. */
  upgrade(host: string, path: string, headers: Record<string, string>): Promise<{ head: string; socket: Socket; rest: Buffer }> {
    const socket = connect(this.port, "127.0.0.1")
    const lines = { Host: host, Connection: "Upgrade", Upgrade: "websocket", ...websocketHeaders, ...headers }
    socket.write(
      `GET ${path} HTTP/1.1\r\n${Object.entries(lines)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("")}\r\n`,
    )
    return readHead(socket)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync()
  }
}

const websocketHeaders = { "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==" }

export function aRunTarget(id: number, key: string): RunTarget {
  const common = { prefix: "strip" as const, upstreamHeaders: {}, landing: "", webSocketProtocol: "any" as const, state: "ready" }
  return { id, key, userId: 1, projectId: id, authors: "own", address: undefined, ...common }
}

/** The assignments of ports, in memory. */
export class TestPortAssignments implements PortAssignments {
  readonly entries = new Map<number, PortAssignment>()

  async ofUser(userId: number, { first, last }: { first: number; last: number }): Promise<PortAssignment[]> {
    return [...this.entries.values()].filter((entry) => entry.userId === userId && entry.port >= first && entry.port <= last)
  }

  async assignedPorts(): Promise<number[]> {
    return [...this.entries.keys()]
  }

  async assign(entry: PortAssignment): Promise<boolean> {
    const now = this.entries.get(entry.port)
    if (now && (now.userId !== entry.userId || now.authors !== entry.authors)) return false
    this.entries.set(entry.port, entry)
    return true
  }
}

/** The `Cookie` header that a browser would send after a response. */
export function cookiesOf({ headers }: FixtureResponse): string {
  return (headers["set-cookie"] ?? []).map((line) => line.split(";")[0]).join("; ")
}

export function readHead(socket: Duplex): Promise<{ head: string; socket: Socket; rest: Buffer }> {
  return new Promise((resolve, reject) => {
    let all = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      all = Buffer.concat([all, chunk])
      const end = all.indexOf("\r\n\r\n")
      if (end < 0) return
      socket.off("data", onData)
      socket.pause()
      resolve({ head: all.toString("latin1", 0, end), socket: socket as Socket, rest: all.subarray(end + 4) })
    }
    socket.on("data", onData)
    socket.on("error", reject)
    socket.on("close", () => reject(new Error(`closed after ${all.toString("latin1")}`)))
  })
}

async function collect(answer: IncomingMessage): Promise<FixtureResponse> {
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk as Buffer)
  return { status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString("latin1"), raw: answer }
}
