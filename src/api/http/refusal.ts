import { randomBytes } from "node:crypto"
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { Failure } from "#contract"

/** Answers what Node's HTTP parser refuses, with the failure object as everywhere else, and closes the connection. */
export function refuseBadHttp(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
  const failure = failureOf(error)
  const requestId = randomBytes(9).toString("base64url")
  const body = JSON.stringify(failure.toBody(requestId))
  const head = [
    `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(body)}`,
    "cache-control: no-store",
    "x-content-type-options: nosniff",
    `x-request-id: ${requestId}`,
    "connection: close",
  ]
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}

function failureOf(error: Error & { code?: string }): Failure {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new Failure("headers_too_large", "The request's head may have 32 KiB at most")
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Failure("invalid", "The request did not arrive in time", { status: 408 })
    default:
      return new Failure("invalid", "The request is not well-formed HTTP")
  }
}
