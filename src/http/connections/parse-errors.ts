import type { Server } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { bounds, Failure } from "#contract"
import { STATUS_CODES } from "../node/http.ts"
import { queueRefusal } from "./pipelining.ts"

/** An error of Node's HTTP parser. */
interface ParseError extends Error {
  code?: string
  /** The bytes of one read, with the requests before the error. */
  rawPacket?: Buffer
  bytesParsed?: number
}

export interface ParseErrorOptions {
  /** The server's limit of a request's head, as the refusal names it. */
  maxHeadBytes: number
  /**
   * The methods that a 405 names. Without them a method that Node does not know is a malformed
   * request.
   */
  methods?: readonly string[]
  /** The code of the refusal when the extensions of a body's chunks are too long. */
  longChunkExtensions: "invalid" | "too_large"
  /** Headers of every such refusal. */
  headers: Readonly<Record<string, string>>
  /** Makes an ID for each refusal; without it they have none. */
  newRequestId?: () => string
}

/**
 * Answers `CONNECT` and whatever the parser rejects with the failure object, after the responses to
 * earlier requests, and closes the connection.
 */
export function handleParseErrors(server: Server, options: ParseErrorOptions): void {
  const refuse = (socket: Duplex, failure: Failure) => queueRefusal(socket as Socket, () => end(socket, rawResponse(failure, options)))
  server.on("clientError", (error: ParseError, socket) => {
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
    else refuse(socket, parseFailure(error, options))
  })
  server.on("connect", (_request, socket) => {
    // Node has released the socket. Only a socket that is read notices that its client left.
    socket.on("error", () => socket.destroy()).resume()
    refuse(socket, methodFailure("CONNECT is not served: this is no proxy", options))
  })
}

function end(socket: Duplex, text: string): void {
  if (!socket.writable) return void socket.destroy()
  socket.on("error", () => socket.destroy())
  socket.end(text, () => socket.destroy())
}

function parseFailure(error: ParseError, options: ParseErrorOptions): Failure {
  if (options.methods !== undefined && isUnknownMethod(error)) return methodFailure("The method is not known", options)
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new Failure(
        "headers_too_large",
        `The request's head may have ${options.maxHeadBytes / 1024} KiB and ${bounds.http.headers.value} fields at most`,
      )
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new Failure(options.longChunkExtensions, "The extensions of the body's chunks are too long")
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Failure("invalid", `The request did not arrive in time; its head has ${bounds.http.headMs.value / 1_000} s`, {
        status: 408,
      })
    default:
      return new Failure("invalid", "The request is not well-formed HTTP")
  }
}

function methodFailure(msg: string, { methods }: ParseErrorOptions): Failure {
  return new Failure("method_not_allowed", msg, methods === undefined ? {} : { headers: { Allow: methods.join(", ") } })
}

/** A refusal as text: Node has no response object for it. */
function rawResponse(failure: Failure, { headers, newRequestId }: ParseErrorOptions): string {
  const requestId = newRequestId?.()
  const body = JSON.stringify(failure.toBody(requestId))
  const all = {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    ...headers,
    ...failure.headers,
    ...(requestId === undefined ? {} : { "X-Request-ID": requestId }),
    Connection: "close",
  }
  const lines = Object.entries(all).map(([name, value]) => `${name.toLowerCase()}: ${value}\r\n`)
  return `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\n${lines.join("")}\r\n${body}`
}

/** Whether a request is well-formed, with a method that Node does not know. */
function isUnknownMethod(error: ParseError): boolean {
  return error.code === "HPE_INVALID_METHOD" && requestLine.test(rejectedText(error))
}

/** The method is a token, though none that Node's parser knows. */
const requestLine = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ \S+ HTTP\/1\.[01]\r?\n/

/** From the beginning of the line that was not understood. */
function rejectedText({ rawPacket, bytesParsed = 0 }: ParseError): string {
  const text = rawPacket?.toString("latin1") ?? ""
  return text.slice(bytesParsed === 0 ? 0 : text.lastIndexOf("\n", bytesParsed - 1) + 1)
}
