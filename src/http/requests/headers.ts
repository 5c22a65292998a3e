import type { IncomingMessage } from "node:http"
import { bounds, Failure } from "#contract"
import { isLoopbackAddress } from "#kit"
import { transferEncodingError } from "./transfer-encoding.ts"
import { peerAddress } from "./trusted-proxies.ts"

/** How often a header, named in lower case, stands in a request's raw headers. */
export function countHeader({ rawHeaders }: Pick<IncomingMessage, "rawHeaders">, name: string): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const each = rawHeaders[i] as string
    if (each.length === name.length && each.toLowerCase() === name) count += 1
  }
  return count
}

/** The address of a list with 200 IDs fits. */
const maxTarget = bounds.http.targetBytes.value

/** Throws a `Failure` (414) for a target that is too long. */
export function checkTarget({ url = "" }: IncomingMessage): void {
  if (url.length <= maxTarget) return
  const wanted = maxTarget.toLocaleString("en")
  throw new Failure("too_large", `The address may have ${wanted} characters at most; got ${url.length.toLocaleString("en")}`, {
    status: 414,
  })
}

/** Throws a `Failure` (400) for a body in a transfer coding that the servers do not decode. */
export function checkTransferEncoding({ headers }: IncomingMessage): void {
  const error = transferEncodingError(headers)
  if (error !== undefined) throw new Failure("invalid", error, { field: "Transfer-Encoding" })
}

/** Whether a request has a body, which may turn out to be empty. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0
}

/**
 * Whether a request comes from this machine. `clientAddress` is the one after trusted proxies. A
 * request that a local proxy forwards from another machine does not.
 */
export function isFromLoopback(request: IncomingMessage, clientAddress: string): boolean {
  const forwarded = request.headers["x-forwarded-for"] ?? request.headers.forwarded
  const peer = peerAddress(request)
  return isLoopbackAddress(peer) && (forwarded === undefined || (clientAddress !== peer && isLoopbackAddress(clientAddress)))
}
