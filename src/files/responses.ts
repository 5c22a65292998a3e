import type { ServerResponse } from "node:http"
import { Failure } from "#contract"
import { anonymousDrain, drainBody, IncompleteBodyError } from "#http"
import { ClientGoneError, DavFailure, fileFailure } from "./failures.ts"

/**
 * Headers of every response. A browser executes no content, and shares none with another
 * page.
 */
export const securityHeaders = {
  "Content-Security-Policy": "sandbox; default-src 'none'",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
} as const

export function sendEmpty(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, {
    ...securityHeaders,
    "Cache-Control": "no-store",
    ...(status === 204 ? {} : { "Content-Length": "0" }),
    ...headers,
  })
  response.end()
}

export function sendXml(response: ServerResponse, status: number, xml: string, headers: Record<string, string> = {}): void {
  const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?>\n${xml}`)
  response.writeHead(status, {
    ...securityHeaders,
    "Cache-Control": "no-store",
    "Content-Type": "application/xml; charset=utf-8",
    "Content-Length": String(body.length),
    ...headers,
  })
  response.end(response.req.method === "HEAD" ? undefined : body)
}

/**
 * Sends a failure: in DAV's own XML if it has a condition, else as the failure object. Any other
 * error goes to `report` only, and the client gets 500.
 */
export async function sendFailure(
  response: ServerResponse,
  error: unknown,
  { report, isAuthenticated = false }: { report: (error: unknown) => void; isAuthenticated?: boolean },
): Promise<void> {
  if (error instanceof ClientGoneError || error instanceof IncompleteBodyError || response.destroyed) return
  const failure = fileFailure(error)
  if (!failure) report(error)
  if (response.headersSent) {
    response.destroy()
    return
  }
  const sent = failure ?? new Failure("internal", "The file server failed; its log has details")
  // A client that waits for `100 Continue` may send no body at all.
  const ends = await drainBody(response.req, {
    ...(isAuthenticated ? {} : anonymousDrain),
    ...(response.req.headers.expect === undefined ? {} : { earlyResponseBytes: 0 }),
  })
  const headers = { ...sent.headers, ...(ends ? { Connection: "close" } : {}) }
  if (sent instanceof DavFailure && sent.condition !== undefined) {
    sendXml(response, sent.status, `<D:error xmlns:D="DAV:">${sent.condition}</D:error>`, headers)
    return
  }
  const body = Buffer.from(JSON.stringify(sent.toBody()))
  response.writeHead(sent.status, {
    ...securityHeaders,
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(body.length),
    ...headers,
  })
  response.end(response.req.method === "HEAD" ? undefined : body)
}
