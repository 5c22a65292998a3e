import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Failure } from "#contract"
import { type ConnectionLimit, createHttpServer } from "#http"
import { createDavHandler, type DavHandlerOptions } from "./methods/handler.ts"
import { methodNames } from "./methods/method-names.ts"
import { answerFailure, guardHeaders } from "./respond.ts"

/**
 * The HTTP server of the files address. A body may take as long as it needs while it makes
 * progress.
 */
export function createFileServer(settings: DavHandlerOptions, connections: ConnectionLimit): Server {
  const handle = createDavHandler(settings)
  const server = createHttpServer({
    handler: (request, response, expectation) => {
      if (expectation === "unknown") return void answerFailure(response, unknownExpectation(), { report: settings.context.reportError })
      if (response.destroyed) return
      const done = busy(request, response)
      // A connection that ends early is noticed where it matters; without listeners its error would
      // end the process.
      request.on("error", () => {})
      response.on("error", () => {})
      const proceed = expectation === "continue" ? () => response.writeContinue() : () => {}
      handle(request, response, proceed).then(done, settings.context.reportError)
    },
    parseErrors: { maxHeadBytes: 16 * 1024, longChunkExtensions: "invalid", methods: methodNames, headers: guardHeaders },
    requestTimeoutMs: 0,
    connections,
  })
  const busy = watchStalls(server, settings.context.limits.stallMs)
  return server
}

function unknownExpectation(): Failure {
  return new Failure("invalid", "Expect: only 100-continue is understood", { status: 417 })
}

/**
 * While the server itself works for a request (a long copy, a slow disk) a still connection is no
 * stall.
 */
function watchStalls(server: Server, stalledMs: number): (request: IncomingMessage, response: ServerResponse) => () => void {
  const working = new WeakMap<object, IncomingMessage>()
  server.setTimeout(stalledMs, (socket) => {
    const request = working.get(socket)
    const waitsForClient = !request || socket.writableLength > 0 || !(request.complete || request.isPaused())
    if (waitsForClient) socket.destroy()
    else socket.setTimeout(stalledMs)
  })
  return (request, response) => {
    const { socket } = response
    if (socket) working.set(socket, request)
    return () => {
      if (socket && working.get(socket) === request) working.delete(socket)
    }
  }
}
