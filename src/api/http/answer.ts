import type { ServerResponse } from "node:http"
import { Failure } from "#contract"

const base = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const

/** Sends one JSON answer. Every answer of the API is complete, uncached and tells the request's ID. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  more: { requestId: string; headers?: Readonly<Record<string, string>> },
): void {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const text = typeof value === "string" ? value : JSON.stringify(value)
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(text),
    ...base,
    "x-request-id": more.requestId,
    ...more.headers,
  })
  response.end(text)
}

/** Sends a refusal. Whatever is no `Failure` is a fault of the program: the caller learns no more than that. */
export function sendFailure(response: ServerResponse, error: unknown, requestId: string): Failure {
  const failure =
    error instanceof Failure
      ? error
      : new Failure("internal", "Something went wrong on the server; its log tells more under this request's ID", { cause: error })
  sendJson(response, failure.status, failure.toBody(requestId), { requestId, headers: failure.headers })
  return failure
}
