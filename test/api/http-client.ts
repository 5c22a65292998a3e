import { once } from "node:events"
import { type IncomingHttpHeaders, request } from "node:http"
import { connect } from "node:net"

/** Any JSON value: tests read and compare every member. */
export interface AnyObject {
  readonly [name: string]: AnyObject
}

/** A raw response, before any client interprets it. */
export interface HttpAnswer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The text as JSON; members are undefined if it is none. */
  body: AnyObject
}

export interface SendOptions {
  /** The `Authorization` header. */
  as?: string | undefined
  /** Sent as JSON, unless it is text or bytes. */
  body?: unknown
  headers?: Record<string, string | string[]>
}

/**
 * Sends one request over its own connection, unchanged: it adds only `Host`, the length, and the
 * type of a JSON body.
 */
export async function sendRequest(baseUrl: string, method: string, path: string, options: SendOptions = {}): Promise<HttpAnswer> {
  const { hostname, port } = new URL(baseUrl)
  const payload = payloadOf(options.body)
  const headers: Record<string, string | string[]> = {
    ...(options.as === undefined ? {} : { authorization: options.as }),
    ...(payload === undefined ? {} : { "content-type": "application/json", "content-length": String(payload.length) }),
    ...options.headers,
  }
  const outgoing = request({ hostname: hostname === "localhost" ? "127.0.0.1" : hostname, port, method, path, headers, agent: false })
  outgoing.end(payload)
  const [incoming] = await once(outgoing, "response")
  const chunks: Buffer[] = []
  const isStream = String(incoming.headers["content-type"]).startsWith("text/event-stream")
  for await (const chunk of incoming) {
    chunks.push(chunk as Buffer)
    // The response has no end: its beginning suffices.
    if (isStream) break
  }
  const text = Buffer.concat(chunks).toString()
  return { status: incoming.statusCode, headers: incoming.headers, text, body: parsed(text) }
}

function payloadOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
}

function parsed(text: string): AnyObject {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** The IDs of a list's response, in its order. */
export function ids(answer: { body: AnyObject } | { data: { ID: number }[] }): number[] {
  const list = "body" in answer ? (answer.body.data as unknown as { ID: number }[]) : answer.data
  return list.map(({ ID }) => ID)
}

/** The server's response to these bytes, until it closes or is silent for `quietMs` (20,000). */
export async function sendRaw(
  baseUrl: string,
  bytes: string | Buffer,
  options: { quietMs?: number; half?: boolean } = {},
): Promise<string> {
  const { port } = new URL(baseUrl)
  const socket = connect({ host: "127.0.0.1", port: Number(port) })
  const chunks: Uint8Array[] = []
  socket.setTimeout(options.quietMs ?? 20_000, () => socket.destroy())
  socket.on("data", (chunk: Buffer) => chunks.push(chunk))
  socket.on("error", () => {})
  socket.write(bytes)
  if (options.half) socket.end()
  await once(socket, "close")
  return Buffer.concat(chunks).toString("latin1")
}

/** Every failure has this form. */
export function isFailure(answer: HttpAnswer): boolean {
  const { body, status } = answer
  const { ok, msg, code, requestId } = body as Record<string, unknown>
  const texts = [msg, code, requestId].every((text) => typeof text === "string" && text !== "")
  return status !== 200 && ok === false && texts
}
