import type { ClientRequest, IncomingMessage, OutgoingHttpHeaders, Server, ServerResponse } from "node:http"
import { Failure } from "#contract"
import {
  assignConnection,
  ConnectionLimiter,
  type ConnectionSettings,
  checkTransferEncoding,
  connectionLimits,
  createHttpServer,
  drainBody,
  HttpServers,
  hasBody,
  http,
  PendingRequests,
  TrustedProxies,
  type TurnOwner,
  tooManyConnections,
  waitForTurn,
} from "#http"
import type { Logger, Signer } from "#kit"
import type { Authority } from "../access/authority.ts"
import type { ListenAddress } from "../bound-addresses.ts"
import { handleCors } from "../cors.ts"
import { identityFailure, invalid } from "../failures.ts"
import { isReadMethod, methodNames } from "../methods/method-names.ts"
import { closeStalledConnections } from "../requests/stalled-connections.ts"
import { securityHeaders, sendFailure } from "../responses.ts"
import { defaultConnections, defaultRequestLimits } from "../settings.ts"
import { pipePaced } from "./paced-pipe.ts"
import { relayHeader } from "./relayed-address.ts"

/** Headers that concern one connection. All others are forwarded. */
const hopHeaders = new Set(
  "connection keep-alive proxy-connection te trailer transfer-encoding upgrade proxy-authenticate proxy-authorization".split(" "),
)
/** Opening a connection to the process that serves the files costs as much as so many bytes. */
export const openingBytes = 32 * 1024
const connectMs = 5_000
const closeMs = 10_000

export interface RelayOptions {
  /** The `host:port` at which the files are served now; undefined: not known. */
  target: () => string | undefined
  signer: Signer
  authority: Pick<Authority, "identify" | "recordRefusals">
  trustedProxies: readonly string[]
  /** The one origin whose pages may read refusals; undefined: none. */
  allowedOrigin: string | undefined
  connections: Partial<ConnectionSettings>
  /** A client that makes no progress for so long is disconnected. Default: as the files address. */
  stallMs?: number | undefined
  logger: Logger
}

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
  /** For whom the bytes of both bodies count. */
  owner: TurnOwner
  /** The request to the process that serves the files. */
  forwarded: ClientRequest
}

/**
 * Forwards requests to the process that serves the files. That process makes all checks: host
 * names, credentials, rights, sizes and times. Credentials are checked here first, so that
 * connections count for their people, and nobody's crowd closes theirs.
 */
export class FilesRelay {
  readonly #options: RelayOptions
  readonly #servers: HttpServers
  readonly #proxies: TrustedProxies
  readonly #agent: InstanceType<typeof http.Agent>

  constructor(options: RelayOptions) {
    this.#options = options
    // Each request has two connections.
    const maxSockets = { ...defaultConnections, ...options.connections }.max / 2
    this.#agent = new http.Agent({ keepAlive: false, maxSockets, maxTotalSockets: maxSockets })
    this.#proxies = new TrustedProxies(options.trustedProxies)
    const pending = new PendingRequests()
    const connections = this.#createConnectionLimiter()
    this.#servers = new HttpServers({
      createServer: () => this.#createServer({ connections, pending }),
      pending,
    })
  }

  #createServer(parts: { connections: ConnectionLimiter; pending: PendingRequests }): Server {
    const server = createHttpServer({
      handler: (request, response) => {
        response.once("close", markBusy(request, response))
        void this.#handle(request, response)
      },
      parseErrors: { maxHeadBytes: 16 * 1024, longChunkExtensions: "invalid", methods: methodNames, headers: securityHeaders },
      requestTimeoutMs: 0,
      ...parts,
    })
    const markBusy = closeStalledConnections(server, this.#options.stallMs ?? defaultRequestLimits.stallMs)
    return server
  }

  #createConnectionLimiter(): ConnectionLimiter {
    const { logger } = this.#options
    return new ConnectionLimiter({
      ...connectionLimits({ ...defaultConnections, ...this.#options.connections }),
      proxies: this.#proxies,
      onFull: (what, err) => {
        if (what === "accept") logger.error({ err }, "the files address accepts no more connections")
      },
    })
  }

  /** Resolves with the bound addresses. Opens all of them or none. */
  async listen(addresses: readonly ListenAddress[]): Promise<ListenAddress[]> {
    const opened = await this.#servers.listen(addresses)
    return opened.map(({ address, port }) => ({ host: address, port }))
  }

  /** Stops listening at once, and resolves when the requests under way have ended. */
  async close(): Promise<void> {
    await this.#servers.close({ deadlineMs: closeMs, stopsListening: "first" })
    this.#agent.destroy()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on("error", () => {})
    response.on("error", () => {})
    if (this.#servers.isClosing) response.shouldKeepAlive = false
    try {
      const target = this.#options.target()
      if (target === undefined) throw notServed()
      checkTransferEncoding(request)
      const owner = await this.#findOwner(request)
      await waitForTurn(owner, { length: openingBytes }, request)
      if (response.closed) return
      this.#connect({ request, response, owner, forwarded: this.#requestTo(target, request) })
    } catch (error) {
      if (handleCors(this.#options.allowedOrigin, request, response)) return
      this.#refuse(response, error)
    }
  }

  #requestTo(target: string, request: IncomingMessage): ClientRequest {
    const { hostname, port } = new URL(`http://${target}`)
    const { method, url: path } = request
    const host = hostname.replace(/^\[|\]$/g, "")
    try {
      return http.request({ host, port, method, path, headers: this.#headersFor(request), agent: this.#agent, setHost: false })
    } catch (error) {
      throw invalid(`The request cannot be passed on: ${(error as Error).message}`)
    }
  }

  /**
   * Counts the connection for the request's person, for whom its bytes count as well; without
   * credentials, for the client's address. Wrong ones are refused here: the other process would
   * count them once more.
   */
  async #findOwner(request: IncomingMessage): Promise<TurnOwner> {
    const { authority } = this.#options
    const { authorization } = request.headers
    const address = this.#proxies.clientAddress(request)
    if (authorization === undefined) return address
    const found = await authority.identify(authorization, address)
    if (found.ok) {
      if (!assignConnection(request.socket, found.userId)) throw tooManyConnections()
      return found.userId
    }
    const failure = identityFailure(found)
    const { userName } = found
    if (failure.status !== 503)
      authority.recordRefusals({ userName, address, isWrite: !isReadMethod(request.method), code: failure.code, count: 1 })
    throw failure
  }

  #headersFor(request: IncomingMessage): OutgoingHttpHeaders {
    return {
      ...forwardedHeaders(request.rawHeaders),
      // Without it Node would send the body of a DELETE as if it were the next request.
      ...(request.headers["transfer-encoding"] === undefined ? {} : { "transfer-encoding": "chunked" }),
      // Replaces a client's own.
      [relayHeader]: this.#options.signer.sign(this.#proxies.clientAddress(request)),
    }
  }

  #connect({ request, response, owner, forwarded }: Exchange): void {
    const timer = setTimeout(() => forwarded.destroy(new Error("no connection in time")), connectMs)
    forwarded.once("socket", (socket) => {
      if (socket.connecting) socket.once("connect", () => clearTimeout(timer))
      else clearTimeout(timer)
    })
    response.once("close", () => forwarded.destroy())
    forwarded.on("continue", () => response.writeContinue())
    let stopBody = (): void => {}
    forwarded.on("response", (answer) => {
      stopBody()
      void this.#answer({ request, response, owner, answer })
    })
    forwarded.on("error", (err) => {
      clearTimeout(timer)
      if (response.closed) return
      this.#options.logger.debug({ err }, "the process that serves the files did not answer")
      if (response.headersSent) response.destroy()
      else this.#refuse(response, notServed())
    })
    if (!hasBody(request)) return void forwarded.end()
    forwarded.flushHeaders()
    stopBody = pipePaced(request, forwarded, owner)
  }

  /** An answer that arrives before the end of the body refuses the rest. */
  async #answer({ request, response, owner, answer }: Omit<Exchange, "forwarded"> & { answer: IncomingMessage }): Promise<void> {
    const ends = await drainBody(request, { earlyResponseBytes: 0 })
    const headers = { ...forwardedHeaders(answer.rawHeaders), ...(ends ? { Connection: "close" } : {}) }
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, headers)
    answer.on("error", () => response.destroy())
    pipePaced(answer, response, owner)
  }

  #refuse(response: ServerResponse, failure: unknown): void {
    const { logger } = this.#options
    void sendFailure(response, failure, { report: (err) => logger.error({ err }, "a file request was not passed on") })
  }
}

const notServed = () =>
  new Failure("unavailable", "No process serves the files at present; another one takes over in a few seconds", {
    headers: { "Retry-After": "2" },
  })

/** Repeated headers keep all their values, so that the serving process checks them. */
function forwardedHeaders(rawHeaders: readonly string[]): OutgoingHttpHeaders {
  const sent = new Map<string, { name: string; values: string[] }>()
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value = ""] = rawHeaders.slice(i, i + 2)
    const key = name.toLowerCase()
    if (hopHeaders.has(key)) continue
    const former = sent.get(key)
    if (former) former.values.push(value)
    else sent.set(key, { name, values: [value] })
  }
  return Object.fromEntries(
    [...sent.values()].map(({ name, values: [first = "", ...more] }) => [name, more.length > 0 ? [first, ...more] : first]),
  )
}
