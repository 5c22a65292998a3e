import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http"
import { bounds, Failure } from "#contract"
import { attributeRequest, type ConnectionLimit, handleParseErrors, http, type PipeliningOptions, queueRequest, serverOptions } from "#http"
import { sendFailure } from "./answer.ts"
import { refusalOf } from "./refusal.ts"
import { newRequestId } from "./request-context.ts"

export interface ListenAddress {
  host: string
  port: number
}

/**
 * How long requests that are under way may take to finish when the service stops; what waits for
 * something is told a moment before.
 */
const finishMs = 8_000
const tellMs = 7_000

const limits = {
  requestTimeout: bounds.http.requestMs.value,
  headersTimeout: bounds.http.headMs.value,
  keepAliveTimeout: bounds.http.keepAliveMs.value,
  maxHeaderSize: bounds.http.headBytes.value,
  connectionsCheckingInterval: bounds.http.headMs.value / 4,
  /** A missing `Host` is refused with the failure object, like a wrong one. */
  requireHostHeader: false,
}

/**
 * Several HTTP servers with one handler: `localhost` is two addresses. Stops gracefully: what is
 * under way finishes, what comes new is told to come again.
 */
export class Listener {
  readonly #servers: Server[] = []
  readonly #inTurn: PipeliningOptions
  readonly #connections: ConnectionLimit | undefined
  readonly #ending = new AbortController()
  #underWay = 0
  /** Set once the service stops; resolved when nothing is under way any more. */
  #idle: PromiseWithResolvers<void> | undefined

  constructor(handler: RequestListener, connections?: ConnectionLimit) {
    this.#connections = connections
    this.#inTurn = { handler, maxWaiting: bounds.http.pipelinedRequests.value, over: () => this.#over() }
  }

  #over(): void {
    this.#underWay -= 1
    if (this.#underWay === 0) this.#idle?.resolve()
  }

  /** Requests under way. */
  get underWay(): number {
    return this.#underWay
  }

  /**
   * Aborted when what waits must give up, so that it is still answered before the service stops.
   */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  /** Resolves when all are open; when one cannot be, none stays open and it rejects. */
  async listen(addresses: readonly ListenAddress[]): Promise<void> {
    for (const address of addresses) {
      const server = this.#make()
      this.#servers.push(server)
      await listening(server, address).catch(async (error: unknown) => {
        for (const each of this.#servers) each.close()
        throw error
      })
    }
  }

  /**
   * Takes at most 8 s. Until all requests are answered the ports stay open, and further requests
   * get 503.
   */
  async close(): Promise<void> {
    if (this.#idle) return
    this.#idle = Promise.withResolvers<void>()
    const tell = setTimeout(() => this.#ending.abort(stops()), tellMs)
    const cut = setTimeout(this.#idle.resolve, finishMs)
    if (this.#underWay === 0) this.#idle.resolve()
    await this.#idle.promise
    clearTimeout(tell)
    clearTimeout(cut)
    const open = this.#servers.filter((server) => server.listening)
    const closed = open.map((server) => new Promise((resolve) => server.close(resolve)))
    for (const server of open) server.closeAllConnections()
    await Promise.all(closed)
  }

  #make(): Server {
    const server = http.createServer({ ...limits, ...serverOptions }, (request, response) => this.#take(request, response))
    this.#connections?.watch(server)
    handleParseErrors(server, refusalOf)
    server.on("checkExpectation", (_request, response) =>
      sendFailure(response, new Failure("invalid", "Expect may be 100-continue only", { status: 417 }), newRequestId()),
    )
    return server
  }

  #take(request: IncomingMessage, response: ServerResponse): void {
    if (this.#idle) {
      response.setHeader("connection", "close")
      sendFailure(response, stops(), newRequestId())
      return
    }
    this.#underWay += 1
    attributeRequest(request, response)
    queueRequest(request, response, this.#inTurn)
  }
}

function stops(): Failure {
  return new Failure("unavailable", "The service stops", { headers: { "retry-after": "5" } })
}

function listening(server: Server, { host, port }: ListenAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen({ host, port }, () => {
      server.off("error", reject)
      resolve()
    })
  })
}
