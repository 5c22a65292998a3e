import { Failure } from "#contract"
import { http, isUnknownMethod, type ParseError } from "#http"
import { newRequestId } from "./request-context.ts"

/**
 * The answer, as text, to what is no request for this server: with the failure object as everywhere
 * else.
 */
export function refusalOf(what: ParseError | "CONNECT"): string {
  const failure = what === "CONNECT" ? noTunnel : failureOf(what)
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
  return `${head.join("\r\n")}\r\n\r\n${body}`
}

const noTunnel = new Failure("method_not_allowed", "This is no proxy: CONNECT is not served", { headers: { allow: "GET" } })

function failureOf(error: ParseError): Failure {
  if (isUnknownMethod(error))
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
