import { createServer, type RequestListener, type Server } from "node:http"
import { Failure } from "#contract"
import { sendFailure } from "./answer.ts"
import { refuseBadHttp } from "./refusal.ts"

export interface ListenAddress {
  host: string
  port: number
}

/** How long requests that are under way may take to finish when the service stops. */
const finishMs = 10_000

/** Several HTTP servers with one handler: `localhost` is two addresses. Stops gracefully: what is under way finishes, what comes new is told to come again. */
export class Listener {
  readonly #servers: Server[] = []
  #handler: RequestListener = (_request, response) => response.destroy()
  #closing = false

  /** Takes the router's handler; the server returned is the first that will listen. */
  take(handler: RequestListener): Server {
    this.#handler = handler
    return this.#add()
  }

  async listen(addresses: readonly ListenAddress[]): Promise<void> {
    for (const [i, { host, port }] of addresses.entries()) {
      const server = this.#servers[i] ?? this.#add()
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject)
        server.listen({ host, port }, () => {
          server.off("error", reject)
          resolve()
        })
      })
    }
  }

  async close(): Promise<void> {
    this.#closing = true
    const closed = this.#servers.filter((server) => server.listening).map((server) => new Promise((resolve) => server.close(resolve)))
    for (const server of this.#servers) server.closeIdleConnections()
    const late = setTimeout(() => {
      for (const server of this.#servers) server.closeAllConnections()
    }, finishMs)
    await Promise.all(closed)
    clearTimeout(late)
  }

  #add(): Server {
    const options = {
      requestTimeout: 300_000,
      headersTimeout: 20_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 32 * 1024,
      connectionsCheckingInterval: 5_000,
    }
    const server = createServer(options, (request, response) => {
      if (this.#closing) {
        response.setHeader("connection", "close")
        sendFailure(response, new Failure("unavailable", "The service stops", { headers: { "retry-after": "5" } }), "")
      } else this.#handler(request, response)
    })
    server.on("clientError", refuseBadHttp)
    // An upgrade or `Expect` that nobody here understands is answered like any request.
    server.on("checkExpectation", (_request, response) =>
      sendFailure(response, new Failure("invalid", "Expect may be 100-continue only", { status: 417 }), ""),
    )
    this.#servers.push(server)
    return server
  }
}
