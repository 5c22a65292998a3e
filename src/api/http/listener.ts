import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import { bounds, Failure } from "#contract"
import {
  createHttpServer,
  type HttpServerOptions,
  HttpServers,
  type HttpUpgrade,
  hasPendingRequest,
  type ParseErrorOptions,
  PendingRequests,
} from "#http"
import { newRequestId } from "./request-context.ts"
import { sendFailure } from "./send.ts"

export interface ListenAddress {
  host: string
  port: number
}

/**
 * How long pending requests may take to finish when the service stops. Requests that wait for
 * something are aborted a moment earlier, so that they are still answered.
 */
const finishMs = 8_000
const abortAfterMs = 7_000

/** How the API refuses requests that Node does not parse. */
const parseErrors: ParseErrorOptions = {
  longChunkExtensions: "too_large",
  maxHeadBytes: bounds.http.headBytes.value,
  methods: ["GET", "HEAD", "POST", "PUT", "DELETE"],
  headers: { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" },
  newRequestId,
}

/** The requests that change their connection's protocol; all others are answered as usual. */
export interface UpgradeHandler {
  accepts(request: IncomingMessage): boolean
  handle(upgrade: HttpUpgrade): void
}

/**
 * The API's HTTP servers. They stop gracefully: pending requests finish, and new ones get 503 with
 * `Retry-After`.
 */
export class Listener {
  readonly #servers: HttpServers
  readonly #pending = new PendingRequests()
  readonly #handler: RequestListener
  readonly #upgrades: UpgradeHandler
  readonly #options: Pick<HttpServerOptions, "connections" | "personOf">
  readonly #ending = new AbortController()

  constructor(handler: RequestListener, upgrades: UpgradeHandler, options: Pick<HttpServerOptions, "connections" | "personOf">) {
    this.#options = options
    this.#upgrades = upgrades
    this.#handler = handler
    this.#servers = new HttpServers({ createServer: () => this.#createServer(), pending: this.#pending })
  }

  get pendingRequests(): number {
    return this.#pending.size
  }

  /**
   * Aborted when requests must stop waiting, so that they are answered before the service stops.
   */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  /** Opens all of the addresses or none; rejects when one cannot be opened. */
  async listen(addresses: readonly ListenAddress[]): Promise<void> {
    await this.#servers.listen(addresses)
  }

  /** Takes at most 8 s. The ports stay open until all requests are answered. */
  async close(): Promise<void> {
    if (this.#servers.isClosing) return
    const timer = setTimeout(() => this.#ending.abort(stopping()), abortAfterMs)
    await this.#servers.close({ deadlineMs: finishMs, stopsListening: "last", beforeCut: () => clearTimeout(timer) })
  }

  #createServer(): Server {
    const upgrades = this.#upgrades
    return createHttpServer({
      handler: (request, response, expectation) => {
        if (expectation === "unknown") return refuseExpectation(response)
        if (expectation === "continue") response.writeContinue()
        this.#handler(request, response)
      },
      upgrade: (upgrade) => upgrades.handle(upgrade),
      parseErrors,
      requestTimeoutMs: bounds.http.requestMs.value,
      maxHeadBytes: bounds.http.headBytes.value,
      ...this.#options,
      admit: (_request, response) => this.#admit(response),
      pending: this.#pending,
      node: { shouldUpgradeCallback: (request) => upgrades.accepts(request) && !hasPendingRequest(request.socket) },
    })
  }

  #admit(response: ServerResponse): boolean {
    if (!this.#servers.isClosing) return true
    response.setHeader("connection", "close")
    sendFailure(response, stopping(), newRequestId())
    return false
  }
}

function refuseExpectation(response: ServerResponse): void {
  sendFailure(response, new Failure("invalid", "Expect may be 100-continue only", { status: 417 }), newRequestId())
}

function stopping(): Failure {
  return new Failure("unavailable", "The service stops", { headers: { "retry-after": "5" } })
}
