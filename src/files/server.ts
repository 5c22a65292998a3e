import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { bounds, Failure } from "#contract"
import {
  attributeRequest,
  type ConnectionLimit,
  handleParseErrors,
  http,
  isUnknownMethod,
  type ParseError,
  type PipeliningOptions,
  queueRequest,
  serverOptions,
} from "#http"
import { createDavHandler, type DavHandlerOptions } from "./methods/handler.ts"
import { methodNames } from "./methods/method-names.ts"
import { answerFailure, guardHeaders } from "./respond.ts"

/**
 * The HTTP server of the files address. A body may take as long as it needs while it makes
 * progress.
 */
export function createFileServer(settings: DavHandlerOptions, connections: ConnectionLimit): Server {
  const handle = createDavHandler(settings)
  const server = http.createServer({
    ...serverOptions,
    requireHostHeader: false,
    requestTimeout: 0,
    headersTimeout: bounds.http.headMs.value,
    keepAliveTimeout: bounds.http.keepAliveMs.value,
    connectionsCheckingInterval: bounds.http.headMs.value / 4,
  })
  connections.watch(server)
  const busy = watchStalls(server, settings.context.limits.stallMs)
  const serve = (request: IncomingMessage, response: ServerResponse, proceed: () => void) => {
    if (response.destroyed) return
    attributeRequest(request, response)
    const done = busy(request, response)
    // A connection that ends early is seen where it matters; without listeners it would end the
    // process.
    request.on("error", () => {})
    response.on("error", () => {})
    handle(request, response, proceed).then(done, settings.context.reportError)
  }
  const maxWaiting = bounds.http.pipelinedRequests.value
  const plain: PipeliningOptions = { maxWaiting, handler: (request, response) => serve(request, response, () => {}) }
  const asking: PipeliningOptions = { maxWaiting, handler: (request, response) => serve(request, response, () => response.writeContinue()) }
  server.on("request", (request, response) => queueRequest(request, response, plain))
  server.on("checkContinue", (request, response) => queueRequest(request, response, asking))
  server.on("checkExpectation", (_request, response: ServerResponse) => {
    void answerFailure(response, new Failure("invalid", "Expect: only 100-continue is understood", { status: 417 }), {
      report: settings.context.reportError,
    })
  })
  handleParseErrors(server, connectionRefusal)
  return server
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

/** What HTTP itself refuses has the failure object, too; as text. */
function connectionRefusal(what: ParseError | "CONNECT"): string {
  const { status, text, body } = protocolFailure(what)
  const json = JSON.stringify({ ok: false, ...body })
  const headers = {
    ...guardHeaders,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(json),
    Allow: allow,
    Connection: "close",
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${text}\r\n${lines.join("")}\r\n${json}`
}

const allow = methodNames.join(", ")

function protocolFailure(what: ParseError | "CONNECT"): { status: number; text: string; body: { msg: string; code: string } } {
  if (what === "CONNECT" || isUnknownMethod(what)) {
    return { status: 405, text: "Method Not Allowed", body: { msg: "The method is not known", code: "method_not_allowed" } }
  }
  if (what.code === "HPE_HEADER_OVERFLOW") {
    return {
      status: 431,
      text: "Request Header Fields Too Large",
      body: { msg: "The request's headers and target have more than 16 KiB", code: "headers_too_large" },
    }
  }
  if (what.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return {
      status: 408,
      text: "Request Timeout",
      body: { msg: `The request's headers did not arrive in ${bounds.http.headMs.value / 1_000} s`, code: "invalid" },
    }
  }
  return { status: 400, text: "Bad Request", body: { msg: "This is not an HTTP request", code: "invalid" } }
}
