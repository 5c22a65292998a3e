import type { IncomingHttpHeaders, IncomingMessage } from "node:http"
import { stripOwnCookies } from "../sessions/cookies.ts"
import type { RunEntityTags } from "./entity-tags.ts"
import type { ProxyRequest } from "./proxy-request.ts"

export interface RequestHeadOptions {
  proxyRequest: ProxyRequest
  /** The value of `X-Forwarded-For`. */
  forwardedFor: string
  /** How browsers reach the gateway: `http` or `https`. */
  scheme: string
  /** Whether the request asks to change the protocol, and may. */
  isUpgrade: boolean
}

type Rule = "keep" | "drop" | "host" | "cookie" | "authorization" | "condition"

/** Conditions on a response that the client already has, by tag or by time. */
const conditions = new Set(["if-none-match", "if-match", "if-range", "if-modified-since", "range"])

/**
 * Headers about this connection, the caller's identity, or the route of the request.
 */
const dropped = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authorization",
  "proxy-authenticate",
  "te",
  "transfer-encoding",
  "content-length",
  "upgrade",
  "http2-settings",
  "expect",
  "forwarded",
  "x-real-ip",
  "x-client-ip",
  "true-client-ip",
  "x-original-url",
  "x-rewrite-url",
  "proxy",
])

const rules = new Map<string, Rule>()
/** Names of headers that are remembered, none longer than this: strangers choose them. */
const maxRules = 1_000
const maxRuleCharacters = 64

/**
 * A header's rule by its name as sent. Some programs read `_` as `-`, so for the names that matter
 * they are the same here.
 */
function ruleOf(name: string): Rule {
  const known = rules.get(name)
  if (known !== undefined) return known
  const plain = name.toLowerCase().replaceAll("_", "-")
  const rule = plainRule(plain, name.includes("_"))
  if (rules.size < maxRules && name.length <= maxRuleCharacters) rules.set(name, rule)
  return rule
}

function plainRule(plain: string, isVariant: boolean): Rule {
  if (dropped.has(plain) || plain.startsWith("x-forwarded-")) return "drop"
  if (conditions.has(plain)) return "condition"
  if (plain !== "host" && plain !== "cookie" && plain !== "authorization") return "keep"
  return isVariant ? "drop" : plain
}

/** The head of the request that the program receives. */
export function requestHead(request: IncomingMessage, options: RequestHeadOptions): string {
  const { proxyRequest } = options
  const added = additionsOf(proxyRequest.target.upstreamHeaders)
  const named = namedByConnection(request.headers.connection)
  const { rawHeaders } = request
  let head = `${request.method} ${proxyRequest.path} HTTP/1.1\r\n`
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    const rule = ruleOf(name)
    if (rule === "drop" || (added.names.size > 0 && added.names.has(plainName(name))) || named?.has(name.toLowerCase())) continue
    const value = forwardHeader(rule, rawHeaders[i + 1] as string, { proxyRequest, name, request })
    if (value !== undefined) head += `${name}: ${value}\r\n`
  }
  return `${head}${added.text}${forwarded(request, options)}${framing(request, options.isUpgrade)}\r\n`
}

/** The lines of a request's trailers, without headers that identify the caller. */
export function requestTrailers(raw: readonly string[], { target }: ProxyRequest): string {
  const { names } = additionsOf(target.upstreamHeaders)
  let text = ""
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    if (ruleOf(name) === "keep" && !names.has(plainName(name))) text += `${name}: ${raw[i + 1]}\r\n`
  }
  return text
}

interface HeaderContext {
  proxyRequest: ProxyRequest
  name: string
  request: IncomingMessage
}

function forwardHeader(rule: Rule, value: string, { proxyRequest, name, request }: HeaderContext): string | undefined {
  const { via, programCookies, entityTags } = proxyRequest
  if (rule === "condition" && entityTags) return condition(name.toLowerCase(), value, { entityTags, headers: request.headers })
  if (rule === "cookie") return programCookies ? programCookies.decode(value) : stripOwnCookies(value)
  if (rule === "authorization") return via === "origin" && isProgramsOwn(value) ? value : undefined
  return value
}

/**
 * `Range` is forwarded only if its condition names a response that this run sent before.
 */
function condition(
  name: string,
  value: string,
  { entityTags, headers }: { entityTags: RunEntityTags; headers: IncomingHttpHeaders },
): string | undefined {
  if (name !== "range") return entityTags.condition(name, value)
  const { "if-range": ifRange } = headers
  return ifRange === undefined || entityTags.isOurs(String(ifRange)) ? value : undefined
}

/**
 * A program's page may send a token of the program's own. Basic, and any possible token of this
 * service, is removed.
 */
function isProgramsOwn(authorization: string): boolean {
  return !/^basic\b/i.test(authorization) && !/(?<![A-Za-z0-9_-])q[sf]_/.test(authorization)
}

function forwarded({ headers }: IncomingMessage, { forwardedFor, scheme }: RequestHeadOptions): string {
  return `X-Forwarded-For: ${forwardedFor}\r\nX-Forwarded-Host: ${headers.host}\r\nX-Forwarded-Proto: ${scheme}\r\n`
}

function framing({ headers }: IncomingMessage, isUpgrade: boolean): string {
  if (isUpgrade) return `Connection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n`
  if (headers["transfer-encoding"] !== undefined) return "Transfer-Encoding: chunked\r\n"
  return headers["content-length"] === undefined ? "" : `Content-Length: ${headers["content-length"]}\r\n`
}

/**
 * Headers that the sender declares as hop-by-hop. It may not remove headers that the program needs
 * to understand the request.
 */
function namedByConnection(connection: string | undefined): Set<string> | undefined {
  if (connection === undefined || /^(?:keep-alive|close|upgrade)$/i.test(connection)) return undefined
  const names = new Set(connection.split(",").map((name) => name.trim().toLowerCase()))
  for (const needed of ["host", "cookie", "content-type", "content-encoding", "origin"]) names.delete(needed)
  return names
}

interface Additions {
  names: ReadonlySet<string>
  text: string
}

const additions = new WeakMap<object, Additions>()

function additionsOf(headers: Readonly<Record<string, string>>): Additions {
  let made = additions.get(headers)
  if (made === undefined) {
    const text = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const broken = text.find((line) => !/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+: [\t\x20-\x7e\x80-\xff]*\r\n$/.test(line))
    if (broken !== undefined) throw new TypeError(`A header for upstream is not one: ${JSON.stringify(broken.split(":")[0])}`)
    made = { names: new Set(Object.keys(headers).map(plainName)), text: text.join("") }
    additions.set(headers, made)
  }
  return made
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll("_", "-")
}
