import type { ServerResponse } from "node:http"
import { Failure } from "#contract"
import { closeIfUnread } from "#http"

export interface SendOptions {
  requestId: string
  /** Names and values, alternating. */
  headers?: readonly string[] | undefined
  /** Default: JSON. */
  type?: string
  /** Default: `no-store`. */
  cacheControl?: string | undefined
}

/** Sends one answer. Every answer is complete and carries the request's ID. */
export function send(response: ServerResponse, status: number, text: string | Buffer, options: SendOptions): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const length = Buffer.byteLength(text)
  const head = toRawHeaders(options)
  head.push("content-length", String(length))
  response.writeHead(status, head)
  if (pending.push({ response, text, length }) === 1) setImmediate(writePending)
}

/** The head of an answer without its length: names and values, alternating. */
export function toRawHeaders({
  requestId,
  headers,
  type = "application/json; charset=utf-8",
  cacheControl = "no-store",
}: SendOptions): string[] {
  const head = [
    "content-type",
    type,
    "cache-control",
    cacheControl,
    "cross-origin-resource-policy",
    "same-origin",
    "x-content-type-options",
    "nosniff",
    "x-request-id",
    requestId,
  ]
  if (headers) head.push(...headers)
  return head
}

interface PendingResponse {
  response: ServerResponse
  text: string | Buffer
  /** In bytes. */
  length: number
}

/**
 * The answers of this turn of the event loop, which are written at its end. A write wakes a
 * sleeping reader, which costs more than the write itself. In a row of writes most readers are
 * awake.
 */
const pending: PendingResponse[] = []

function writePending(): void {
  for (const { response, text, length } of pending.splice(0)) {
    // As many bytes as characters: all of it is ASCII, which is copied faster than it is encoded.
    response.end(text, length === text.length ? "latin1" : "utf8")
    if (response.writableLength > 0) closeIfUnread(response)
  }
}

/**
 * Sends a refusal. An error that is not a `Failure` is internal: the caller gets no details.
 */
export function sendFailure(response: ServerResponse, error: unknown, requestId: string): Failure {
  const failure = toFailure(error)
  const headers = Object.entries(failure.headers).flat()
  if (failure.status === 401) headers.push("www-authenticate", 'Bearer realm="Quayside"')
  send(response, failure.status, JSON.stringify(failure.toBody(requestId)), { requestId, headers })
  return failure
}

export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  return new Failure("internal", "Something went wrong on the server; its log tells more under this request's ID", { cause: error })
}
