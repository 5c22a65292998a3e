import type { RequestListener, Server, ServerResponse } from "node:http"
import { bounds, Failure } from "#contract"
import { type ConnectionLimit, createHttpServer, type ParseErrorOptions } from "#http"
import { sendFailure } from "./answer.ts"
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

/** Of refusals of what Node does not parse as a request. */
const parseErrors: ParseErrorOptions = {
  longChunkExtensions: "too_large",
  maxHeadBytes: bounds.http.headBytes.value,
  methods: ["GET", "HEAD", "POST", "PUT", "DELETE"],
  headers: { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff" },
  newRequestId,
}

/**
 * Several HTTP servers with one handler: `localhost` is two addresses. Stops gracefully: what is
 * under way finishes, what comes new is told to come again.
 */
export class Listener {
  readonly #servers: Server[] = []
  readonly #handler: RequestListener
  readonly #connections: ConnectionLimit | undefined
  readonly #ending = new AbortController()
  #underWay = 0
  /** Set once the service stops; resolved when nothing is under way any more. */
  #idle: PromiseWithResolvers<void> | undefined

  constructor(handler: RequestListener, connections?: ConnectionLimit) {
    this.#connections = connections
    this.#handler = handler
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
    return createHttpServer({
      handler: (request, response, expectation) => {
        if (expectation === "unknown") return refuseExpectation(response)
        if (expectation === "continue") response.writeContinue()
        this.#handler(request, response)
      },
      parseErrors,
      requestTimeoutMs: bounds.http.requestMs.value,
      maxHeadBytes: bounds.http.headBytes.value,
      connections: this.#connections,
      admit: (_request, response) => this.#admit(response),
      onDone: () => this.#over(),
    })
  }

  #admit(response: ServerResponse): boolean {
    if (this.#idle) {
      response.setHeader("connection", "close")
      sendFailure(response, stops(), newRequestId())
      return false
    }
    this.#underWay += 1
    return true
  }
}

function refuseExpectation(response: ServerResponse): void {
  sendFailure(response, new Failure("invalid", "Expect may be 100-continue only", { status: 417 }), newRequestId())
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
