import type { Server } from "node:http"
import { Failure } from "#contract"
import { type ConnectionLimiter, createHttpServer, type PendingRequests } from "#http"
import { createDavHandler, type DavHandlerOptions } from "./methods/handler.ts"
import { methodNames } from "./methods/method-names.ts"
import { closeStalledConnections } from "./requests/stalled-connections.ts"
import { securityHeaders, sendFailure } from "./responses.ts"

export interface DavServerOptions extends DavHandlerOptions {
  connections: ConnectionLimiter
  pending: PendingRequests
  /** While the server closes, each response closes its connection. */
  isClosing: () => boolean
}

/**
 * The HTTP server of the files address. A body may take as long as it needs while it makes
 * progress.
 */
export function createDavServer(options: DavServerOptions): Server {
  const { context, connections, pending, isClosing } = options
  const handle = createDavHandler(options)
  const server = createHttpServer({
    handler: (request, response, expectation) => {
      if (response.destroyed) return
      if (isClosing()) response.shouldKeepAlive = false
      // A connection that ends early is noticed where it matters; without listeners its error would
      // end the process.
      request.on("error", () => {})
      response.on("error", () => {})
      if (expectation === "unknown") return void sendFailure(response, unknownExpectation(), { report: context.reportError })
      const done = markBusy(request, response)
      const sendContinue = expectation === "continue" ? () => response.writeContinue() : () => {}
      handle(request, response, sendContinue).then(done, context.reportError)
    },
    parseErrors: { maxHeadBytes: 16 * 1024, longChunkExtensions: "invalid", methods: methodNames, headers: securityHeaders },
    requestTimeoutMs: 0,
    connections,
    pending,
  })
  const markBusy = closeStalledConnections(server, context.limits.stallMs)
  return server
}

function unknownExpectation(): Failure {
  return new Failure("invalid", "Expect: only 100-continue is understood", { status: 417 })
}
