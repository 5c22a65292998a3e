import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from "node:http"
import { bounds } from "#contract"
import { serverOptions } from "../node/buffered-request.ts"
import { createServer } from "../node/http.ts"
import { attributeRequest, type ConnectionLimiter, handleInTurn, reportCostlyRead } from "./connection-limiter.ts"
import { handleParseErrors, type ParseErrorOptions } from "./parse-errors.ts"
import type { PendingRequests } from "./pending-requests.ts"
import { queueRequest } from "./pipelining.ts"

/**
 * `continue`: the client waits for `100 Continue` before it sends the body. `unknown`: it expects
 * something else.
 */
export type Expectation = "continue" | "unknown"

export type RequestHandler = (request: IncomingMessage, response: ServerResponse, expectation?: Expectation) => void

export interface HttpServerOptions {
  /** Answers one request of a connection at a time, and sends `100 Continue` if it is expected. */
  handler: RequestHandler
  /** How requests that Node does not parse are refused. */
  parseErrors: ParseErrorOptions
  /** For a whole request, its body included; 0: a body may take as long as it needs. */
  requestTimeoutMs: number
  /** Default: Node's 16 KiB. */
  maxHeadBytes?: number
  connections?: ConnectionLimiter | undefined
  /** The ID of the person whose credentials a request has, if they are known already. */
  personOf?: (request: IncomingMessage) => number | undefined
  /** Called when a request arrives; false: it was answered at once. */
  admit?: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Counts each admitted request until it is answered or its connection ends. */
  pending?: PendingRequests
  /** Further options of Node's. */
  node?: ServerOptions
}

/** Creates a server with time limits, connection limits and pipelining. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { handler, parseErrors, requestTimeoutMs, maxHeadBytes, connections, personOf, admit, pending, node } = options
  const server = createServer({
    ...serverOptions,
    requestTimeout: requestTimeoutMs,
    headersTimeout: bounds.http.headMs.value,
    keepAliveTimeout: bounds.http.keepAliveMs.value,
    connectionsCheckingInterval: bounds.http.headMs.value / 4,
    // The handler refuses a missing `Host` with the failure object, like a wrong one.
    requireHostHeader: false,
    ...(maxHeadBytes === undefined ? {} : { maxHeaderSize: maxHeadBytes }),
    ...node,
  })
  connections?.watch(server)
  const listener = (expectation?: Expectation): RequestListener => {
    const queueing = {
      handler: (request: IncomingMessage, response: ServerResponse) => {
        attributeRequest(request, response)
        const handle = () => {
          if (!response.destroyed) handler(request, response, expectation)
        }
        handleInTurn(request.socket, handle, personOf && (() => personOf(request)))
      },
      maxWaiting: bounds.http.pipelinedRequests.value,
      ...(pending === undefined ? {} : { onDone: () => pending.end() }),
    }
    return (request, response) => {
      if (admit?.(request, response) === false) return
      pending?.begin()
      queueRequest(request, response, queueing)
      // One read holds more requests than may wait, and Node parses all of them.
      if (request.socket.destroyed) reportCostlyRead(request.socket)
    }
  }
  server.on("request", listener())
  server.on("checkContinue", listener("continue"))
  server.on("checkExpectation", listener("unknown"))
  handleParseErrors(server, parseErrors)
  return server
}
