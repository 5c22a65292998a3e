import type { IncomingMessage, RequestListener, Server } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { bounds, Failure } from "#contract"
import {
  attributeRequest,
  type ConnectionLimit,
  handleParseErrors,
  hasPendingRequest,
  http,
  markConnectionInUse,
  type ParseError,
  type PipeliningOptions,
  queueRequest,
  serverOptions,
} from "#http"
import { ChunkBuffer } from "#kit"
import type { GatewayRequest } from "./gateway-request.ts"
import { ownHeaders } from "./pages.ts"

/**
 * How long a client may still send after it was answered, so that it reads the answer rather than a
 * reset.
 */
const lingerFor = 5_000

const earlyMost = bounds.gateway.earlyBytes.value

/** One HTTP server; every call goes to `take`. Bodies have no total time. */
export function createHttpServer(take: (call: GatewayRequest) => void, connections?: ConnectionLimit): Server {
  const server = http.createServer({
    ...serverOptions,
    maxHeaderSize: bounds.http.headBytes.value,
    headersTimeout: bounds.http.headMs.value,
    requestTimeout: 0,
    keepAliveTimeout: bounds.http.keepAliveMs.value,
    connectionsCheckingInterval: bounds.http.headMs.value / 4,
    requireHostHeader: false,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    shouldUpgradeCallback: mayUpgrade,
  })
  server.maxHeadersCount = 0
  connections?.watch(server)
  const receive = (call: GatewayRequest) => {
    attributeRequest(call.request, call.response)
    linger(call)
    take(call)
  }
  const inTurn = (more: Pick<GatewayRequest, "expects">): RequestListener => {
    const options: PipeliningOptions = {
      handler: (request, response) => receive({ request, response, ...more }),
      maxWaiting: bounds.http.pipelinedRequests.value,
    }
    return (request, response) => queueRequest(request, response, options)
  }
  server.on("request", inTurn({}))
  server.on("checkContinue", inTurn({ expects: "continue" }))
  server.on("checkExpectation", inTurn({ expects: "unknown" }))
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => take(upgradeCall(request, socket as Socket, head)))
  handleParseErrors(server, refusalOf)
  return server
}

/**
 * HTTP/2 is not spoken here; whoever offers it goes on in HTTP/1.1. So does who offers another
 * protocol before an earlier request is answered: the connection cannot be given to both.
 */
function mayUpgrade({ method, headers, socket }: IncomingMessage): boolean {
  return method === "GET" && !hasPendingRequest(socket) && !/(?:^|[\s,])h2c?(?:$|[\s,])/i.test(headers.upgrade ?? "")
}

function linger({ request, response }: GatewayRequest): void {
  if (request.complete) return
  response.on("finish", () => {
    if (request.complete) return
    const end = () => request.complete || request.socket.destroy()
    setTimeout(end, lingerFor).unref()
  })
}

/** A refusal needs a response, so there is one until the protocol changes. */
function upgradeCall(request: IncomingMessage, socket: Socket, head: Buffer): GatewayRequest {
  markConnectionInUse(socket)
  attributeRequest(request)
  const response = new http.ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.on("finish", () => socket.end(() => socket.destroy()))
  socket.on("error", () => socket.destroy())
  socket.on("close", () => response.destroy())
  return { request, response, upgrade: { socket, takeEarly: readEarly(socket, head) } }
}

/** Reads on while the answer is awaited: only who reads learns that the client has gone. */
function readEarly(socket: Socket, head: Buffer): () => Buffer {
  const early = new ChunkBuffer()
  early.add(head)
  const onData = (chunk: Buffer) => {
    early.add(chunk)
    if (early.length > earlyMost) socket.pause()
  }
  const onEnd = () => socket.destroy()
  socket.on("data", onData).on("end", onEnd)
  return () => {
    socket.off("data", onData).off("end", onEnd)
    return Buffer.concat(early.take())
  }
}

const noTunnel = new Failure("method_not_allowed", "CONNECT is not known here")
const noRequest = new Failure("invalid", "This is not an HTTP/1.1 request as it must be")
const refusals: Readonly<Record<string, Failure>> = {
  HPE_HEADER_OVERFLOW: new Failure("headers_too_large", "The request's head is longer than 32 KiB"),
  ERR_HTTP_REQUEST_TIMEOUT: new Failure("invalid", `The request's head did not come within ${bounds.http.headMs.value / 1_000} s`, {
    status: 408,
  }),
}

/** As text, where node has no response to write to. */
function refusalOf(what: ParseError | "CONNECT"): string {
  const failure = what === "CONNECT" ? noTunnel : (refusals[what.code ?? ""] ?? noRequest)
  const body = JSON.stringify(failure.toBody())
  const fields = [
    `HTTP/1.1 ${failure.status} ${http.STATUS_CODES[failure.status]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(ownHeaders).map(([name, value]) => `${name}: ${value}`),
    "Connection: close",
  ]
  return `${fields.join("\r\n")}\r\n\r\n${body}`
}
