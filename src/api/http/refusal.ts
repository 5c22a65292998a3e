import type { IncomingMessage, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Failure } from "#contract"
import { http } from "#kit"
import { newRequestId } from "./visit.ts"

/** Where a connection keeps what it is busy with. */
const busyWith = Symbol("busyWith")
type Busy = Duplex & { [busyWith]?: ServerResponse | undefined }

/** The connection is no more HTTP's. */
export function noMoreBusy(connection: Busy): void {
  connection[busyWith] = undefined
}

/** Answers what Node's HTTP parser refuses, with the failure object as everywhere else, and closes the connection. */
export class Refuser {
  /** Notes what a connection is busy with, so that a refusal is never taken for the answer to it. */
  busy(request: IncomingMessage, response: ServerResponse): void {
    const socket: Busy = request.socket
    socket[busyWith] = response
  }

  refuse(error: Error & { code?: string }, socket: Duplex): void {
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const last = (socket as Busy)[busyWith]
    const isNext = last?.req.complete === true && !last.writableFinished
    if (isNext) last.once("close", () => end(socket, failureOf(error)))
    // The body of the request under way is malformed: this is its answer, unless that has begun.
    else if (last && !last.req.complete && last.headersSent) socket.destroy()
    else end(socket, failureOf(error))
  }

  refuseTunnel(socket: Duplex): void {
    end(socket, new Failure("method_not_allowed", "This is no proxy: CONNECT is not served", { headers: { allow: "GET" } }))
  }
}

function end(socket: Duplex, failure: Failure): void {
  if (!socket.writable) return void socket.destroy()
  const requestId = newRequestId()
  const body = JSON.stringify(failure.toBody(requestId))
  const head = [
    `HTTP/1.1 ${failure.status} ${http.STATUS_CODES[failure.status]}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    `x-request-id: ${requestId}`,
    ...Object.entries(failure.headers).map(([name, value]) => `${name}: ${value}`),
    "connection: close",
  ]
  socket.on("error", () => socket.destroy())
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy())
}

/** The method is a word, though none that Node's parser knows: what is there takes others. */
const otherMethod = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r?\n/

interface ParseError extends Error {
  code?: string
  /** What came at once, with requests that were understood before it. */
  rawPacket?: Buffer
  bytesParsed?: number
}

/** From the beginning of the line that was not understood. */
function rejected({ rawPacket, bytesParsed = 0 }: ParseError): string {
  const text = rawPacket?.toString("latin1") ?? ""
  return text.slice(bytesParsed === 0 ? 0 : text.lastIndexOf("\n", bytesParsed - 1) + 1)
}

function failureOf(error: ParseError): Failure {
  if (error.code === "HPE_INVALID_METHOD" && otherMethod.test(rejected(error)))
    return new Failure("method_not_allowed", "The method is not known", { headers: { allow: "GET, HEAD, POST, PUT, DELETE" } })
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new Failure("headers_too_large", "The request's head may have 32 KiB at most")
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Failure("too_large", "The extensions of the body's chunks are too long")
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Failure("invalid", "The request did not arrive in time", { status: 408 })
    default:
      return new Failure("invalid", "The request is not well-formed HTTP")
  }
}
