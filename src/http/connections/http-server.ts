import type { IncomingMessage, RequestListener, Server, ServerOptions, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { bounds } from "#contract"
import { serverOptions } from "../node/buffered-request.ts"
import { createServer } from "../node/http.ts"
import { createUpgradeResponse } from "../node/upgrade-response.ts"
import {
  attributeRequest,
  type ConnectionLimiter,
  markConnectionInUse,
  mayWait,
  reportCostlyRead,
  runInTurn,
} from "./connection-limiter.ts"
import { handleParseErrors, type ParseErrorOptions } from "./parse-errors.ts"
import type { PendingRequests } from "./pending-requests.ts"
import { queueRequest } from "./pipelining.ts"

/** Browsers send about thirty. */
const manyFields = 100

/**
 * `continue`: the client waits for `100 Continue` before it sends the body. `unknown`: it expects
 * something else.
 */
export type Expectation = "continue" | "unknown"

export type RequestHandler = (request: IncomingMessage, response: ServerResponse, expectation?: Expectation) => void

/** A request that changes its connection's protocol, unless it is refused by the response. */
export interface HttpUpgrade {
  request: IncomingMessage
  /** Usable until `release` is called, before the protocol changes. */
  response: ServerResponse
  release: () => void
  socket: Socket
  /** The bytes that came behind the request. */
  head: Buffer
}

export interface HttpServerOptions {
  /** Answers one request of a connection at a time, and sends `100 Continue` if it is expected. */
  handler: RequestHandler
  /** Answers requests that change the protocol; without it, none does. */
  upgrade?: (upgrade: HttpUpgrade) => void
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
  const { handler, upgrade, parseErrors, requestTimeoutMs, maxHeadBytes, connections, admit, pending, node } = options
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
  // Fields of few characters cost a hundred times as much as their bytes.
  server.maxHeadersCount = bounds.http.headers.value
  connections?.watch(server)
  const listener = (expectation?: Expectation): RequestListener => {
    const queueing = {
      handler: (request: IncomingMessage, response: ServerResponse) => {
        attributeRequest(request, response)
        handleInTurn(options, { request, response }, () => handler(request, response, expectation))
      },
      maxWaiting: bounds.http.pipelinedRequests.value,
      mayWait,
      ...(pending === undefined ? {} : { onDone: () => pending.end() }),
    }
    return (request, response) => {
      // Node parses the rest of a read after its connection was closed.
      if (request.socket.destroyed) return
      if (admit?.(request, response) === false) return
      pending?.begin()
      queueRequest(request, response, queueing)
      // One read holds more requests than may wait, and Node parses all of them.
      if (request.socket.destroyed || hasManyFields(request)) reportCostlyRead(request.socket)
    }
  }
  server.on("request", listener())
  server.on("checkContinue", listener("continue"))
  server.on("checkExpectation", listener("unknown"))
  if (upgrade) server.on("upgrade", (request, socket, head) => handleUpgrade(options, { request, socket: socket as Socket, head }))
  handleParseErrors(server, parseErrors)
  return server
}

/** A read that contains such a head takes a millisecond. */
function hasManyFields({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.length > 2 * manyFields
}

function handleUpgrade(options: HttpServerOptions, received: Pick<HttpUpgrade, "request" | "socket" | "head">): void {
  const { request, socket } = received
  if (hasManyFields(request)) reportCostlyRead(socket)
  markConnectionInUse(socket)
  attributeRequest(request)
  const { response, release } = createUpgradeResponse(request, socket)
  handleInTurn(options, { request, response }, () => options.upgrade?.({ ...received, response, release }))
}

/** Handles a request now or in a later turn of the event loop, unless its client has left. */
function handleInTurn(
  { personOf }: HttpServerOptions,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  handle: () => void,
): void {
  const handleUnlessGone = () => {
    if (!response.destroyed) handle()
  }
  runInTurn(request.socket, handleUnlessGone, personOf && (() => personOf(request)))
}
