import { randomBytes } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { TrustedProxies } from "#http"

/** The name of unauthenticated callers. No account can have it. */
export const anonymous = "-"

/** The properties of one request, before and after authentication. */
export class RequestContext {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly path: string
  /** Without the question mark. */
  readonly queryText: string
  readonly requestId: string
  /** The `Host` header, or the authority where the request line holds a whole address. */
  readonly host: string
  /** The caller's name, once it is known. */
  userName = anonymous
  /** Whether its answer is a stream that has the connection for itself. */
  isStream = false
  readonly #proxies: TrustedProxies
  #address: string | undefined

  constructor(request: IncomingMessage, response: ServerResponse, proxies: TrustedProxies) {
    this.request = request
    this.response = response
    this.#proxies = proxies
    this.requestId = requestIdOf(request)
    const url = request.url ?? ""
    const start = url.startsWith("/") ? 0 : authorityEnd(url)
    this.host = start === 0 ? (request.headers.host ?? "") : url.slice("http://".length, start)
    const mark = url.indexOf("?", start)
    this.path = mark < 0 ? (start === 0 ? url : url.slice(start) || "/") : url.slice(start, mark)
    this.queryText = mark < 0 ? "" : url.slice(mark + 1)
  }

  /** The caller's, after trusted proxies. */
  get address(): string {
    this.#address ??= this.#proxies.clientAddress(this.request)
    return this.#address
  }
}

/** Every path also exists below this prefix. */
const alias = "/admin"

/** The path without the alias. */
export function stripAdminPrefix(path: string): string {
  return path.startsWith(`${alias}/`) ? path.slice(alias.length) : path
}

/**
 * The index of the path in the absolute form, `http://host/path`; 0 for any other target.
 */
function authorityEnd(url: string): number {
  const match = /^http:\/\/[^/?#]+/i.exec(url)
  return match ? match[0].length : 0
}

const prefix = `${randomBytes(6).toString("base64url")}-`
let count = 0

/** Unique in this process, and almost certainly among all processes. */
export function newRequestId(): string {
  count += 1
  return prefix + count.toString(36)
}

/** The caller's own request ID if it is valid, and otherwise a new one. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers["x-request-id"]
  return typeof given === "string" && /^[\w.-]{1,64}$/.test(given) ? given : newRequestId()
}
