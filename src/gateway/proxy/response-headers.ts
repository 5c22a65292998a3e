import { confineCookie } from "../sessions/cookies.ts"
import type { ResponseHead } from "../upstream/response-head.ts"
import type { ProxyRequest } from "./proxy-request.ts"

/** Hop-by-hop headers, and those that Node writes itself. */
const hopByHop = ["connection", "keep-alive", "proxy-connection", "proxy-authenticate", "te", "transfer-encoding", "upgrade", "set-cookie2"]

/**
 * Headers with effects beyond the program's own origin: on other ports and names of the host, or on
 * the whole host for a long time.
 */
const farReaching = ["clear-site-data", "strict-transport-security", "public-key-pins", "expect-ct", "alt-svc", "nel", "report-to"]

/**
 * Below the apps URL all runs share an origin: no run may speak for it, and browsers are not
 * served.
 */
const ofTheOrigin = [
  "content-security-policy",
  "content-security-policy-report-only",
  "x-content-type-options",
  "cross-origin-resource-policy",
  "cross-origin-opener-policy",
  "cross-origin-embedder-policy",
  "origin-agent-cluster",
  "reporting-endpoints",
  "permissions-policy",
  "x-frame-options",
  "access-control-allow-origin",
  "access-control-allow-credentials",
  "www-authenticate",
  "refresh",
  "accept-ch",
  "critical-ch",
]

/** Headers that let a cache or a worker answer for an origin that another run will have later. */
const lasting = [
  "cache-control",
  "cdn-cache-control",
  "surrogate-control",
  "pragma",
  "expires",
  "age",
  "service-worker-allowed",
  "use-as-dictionary",
  "no-vary-search",
]

const droppedAtOrigin = new Set([...hopByHop, ...farReaching])
const droppedAtPort = new Set([...droppedAtOrigin, ...lasting])
const droppedAtPath = new Set([...droppedAtPort, ...ofTheOrigin])

/** Makes a response at `/run/<ID>/` harmless in a browser that was made to load it. */
const sandbox = [
  ...["Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'"],
  ...["X-Content-Type-Options", "nosniff"],
  ...["Cross-Origin-Resource-Policy", "same-origin"],
]
/**
 * If browsers do not send `Sec-Fetch-*`, the response restricts itself to this origin.
 */
const sameOriginOnly = ["Content-Security-Policy", "frame-ancestors 'self'", "Cross-Origin-Resource-Policy", "same-origin"]

export interface ResponseHeaderOptions {
  proxyRequest: ProxyRequest
  /** The request's `Host`. */
  host: string
  /** Whether browsers send `Sec-Fetch-*` here. */
  isTrustworthy: boolean
  /** Whether the request says that a browser sent it. */
  isBrowser: boolean
  /**
   * Whether trailers can follow: Node rejects the whole response if it announces impossible
   * trailers.
   */
  hasTrailers: boolean
  /** A `Set-Cookie` of the gateway's own. */
  renewal: string | undefined
}

/** The headers that the client receives: name, value, name, value, … */
export function responseHeaders(head: Pick<ResponseHead, "status" | "headers" | "names">, options: ResponseHeaderOptions): string[] {
  const { status, headers, names } = head
  const { via, programCookies } = options.proxyRequest
  const isReused = via === "path" || programCookies !== undefined
  const dropped = via === "path" ? droppedAtPath : programCookies ? droppedAtPort : droppedAtOrigin
  const hasNoLength = status < 200 || status === 204
  const named = namedByConnection(headers, names)
  const out: string[] = []
  for (let i = 0; i < names.length; i += 1) {
    const name = names[i] as string
    if (dropped.has(name) || named?.has(name) || (name === "trailer" && !options.hasTrailers)) continue
    if (hasNoLength && name === "content-length") continue
    const value = forwardHeader(name, headers[2 * i + 1] as string, options)
    if (value !== undefined) out.push(headers[2 * i] as string, value)
  }
  if (isReused && status >= 200) out.push("Cache-Control", cacheRule(headers, names))
  if (via === "path") out.push(...sandbox)
  else if (!options.isTrustworthy) out.push(...sameOriginOnly)
  if (options.renewal !== undefined) out.push("Set-Cookie", options.renewal)
  return out
}

/**
 * If other runs have this origin later, caches must revalidate each time, or store nothing.
 */
function cacheRule(headers: string[], names: string[]): string {
  for (let at = names.indexOf("cache-control"); at >= 0; at = names.indexOf("cache-control", at + 1)) {
    if (/(?:^|[\s,])no-store(?:$|[\s,])/i.test(headers[2 * at + 1] as string)) return "private, no-store"
  }
  return "private, no-cache"
}

/**
 * A response's trailers as pairs, without cookies and headers that a head may not contain either.
 */
export function responseTrailers(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = []
  for (let i = 0; i < raw.length; i += 2) {
    const [name, value] = raw.slice(i, i + 2) as [string, string]
    const plain = name.toLowerCase()
    if (!droppedAtPath.has(plain) && plain !== "set-cookie" && plain !== "location") pairs.push([name, value])
  }
  return pairs
}

function forwardHeader(name: string, value: string, options: ResponseHeaderOptions): string | undefined {
  if (name === "etag") return options.proxyRequest.entityTags?.mark(value) ?? value
  if (name === "set-cookie") return cookie(value, options)
  if (name === "location" || name === "content-location") return location(value, options)
  return value
}

/**
 * Below the apps URL a cookie would apply to the whole host, base URL included. It is restricted to
 * the run's path, and browsers get none.
 */
function cookie(value: string, { proxyRequest, isBrowser }: ResponseHeaderOptions): string | undefined {
  if (proxyRequest.via === "origin") return proxyRequest.programCookies ? proxyRequest.programCookies.encode(value) : confineCookie(value)
  return isBrowser ? undefined : confineCookie(value, `/run/${proxyRequest.target.id}`)
}

/**
 * A URL of this host becomes relative, regardless of its scheme, and is put below the program's
 * public path.
 */
function location(value: string, { proxyRequest, host }: ResponseHeaderOptions): string {
  const path = pathHere(value, host)
  if (path === undefined) return value
  const { publicPrefix } = proxyRequest
  return publicPrefix === "" || path === publicPrefix || path.startsWith(`${publicPrefix}/`) ? path : publicPrefix + path
}

function pathHere(value: string, host: string): string | undefined {
  if (/^\/(?![/\\])/.test(value)) return value
  if (!/^(?:https?:)?\/\//i.test(value)) return undefined
  const url = URL.parse(value, "http://other.invalid")
  if (url === null || url.host !== host.toLowerCase() || url.pathname.startsWith("//")) return undefined
  return url.pathname + url.search + url.hash
}

function namedByConnection(headers: string[], names: string[]): Set<string> | undefined {
  const at = names.indexOf("connection")
  if (at < 0) return undefined
  const isOnly = names.indexOf("connection", at + 1) < 0
  if (isOnly && /^(?:keep-alive|close|upgrade)$/i.test(headers[2 * at + 1] as string)) return undefined
  const named = new Set<string>()
  for (let i = at; i >= 0; i = names.indexOf("connection", i + 1)) {
    for (const name of (headers[2 * i + 1] as string).split(",")) named.add(name.trim().toLowerCase())
  }
  for (const needed of ["content-length", "content-type", "content-encoding", "set-cookie", "location"]) named.delete(needed)
  return named
}
