import type { IncomingMessage } from "node:http"
import { type AllowedHosts, authorityOf, countHeader, declaresOtherOrigin, transferEncodingError } from "#http"
import { forbidden, invalid } from "./failures.ts"
import { isReadMethod } from "./methods/method-names.ts"

/** Rejects a request for another host: a page elsewhere could point its own name here. */
export function checkHost(request: IncomingMessage, hosts: AllowedHosts): void {
  const authority = authorityOf(request)
  if (!hosts.has(authority)) throw invalid(`Host must be a name of this server; got ${JSON.stringify(authority)}`)
}

/**
 * Headers that identify the caller or the operation. Of two values, a proxy in front may have read
 * the other one.
 */
const singleHeaders = ["Authorization", "Host", "Destination", "Depth", "Overwrite", "If-Match", "Origin"]

/** Rejects a header that may be sent only once and was repeated. */
export function checkRepeatedHeaders(request: IncomingMessage): void {
  const repeated = singleHeaders.find((name) => countHeader(request, name.toLowerCase()) > 1)
  if (repeated !== undefined) throw invalid(`The header ${repeated} must stand once; it stands twice`)
}

/** Rejects a body in a transfer coding that is not decoded here: it would be stored encoded. */
export function checkTransferEncoding({ headers }: IncomingMessage): void {
  const error = transferEncodingError(headers)
  if (error !== undefined) throw invalid(error)
}

/**
 * Rejects a write that a browser sends for a page of another origin, whatever its credentials.
 */
export function checkOrigin(request: IncomingMessage, allowedOrigin: string | undefined): void {
  if (!isReadMethod(request.method) && declaresOtherOrigin(request, [], allowedOrigin))
    throw forbidden("A page of another origin may not write here")
}
