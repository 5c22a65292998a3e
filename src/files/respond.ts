import type { ServerResponse } from "node:http"
import { Failure } from "#contract"
import { anonymousDrain, drainBody, IncompleteBody } from "#http"
import { ClientGone, DavFailure, fileFailure } from "./failures.ts"

/**
 * On every answer: whatever the bytes are, a browser neither runs them nor lends them to another
 * page.
 */
export const guardHeaders = {
  "Content-Security-Policy": "sandbox; default-src 'none'",
  "X-Content-Type-Options": "nosniff",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
} as const

/** Answers with a status and no body. */
export function answerEmpty(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, {
    ...guardHeaders,
    "Cache-Control": "no-store",
    ...(status === 204 ? {} : { "Content-Length": "0" }),
    ...headers,
  })
  response.end()
}

export function answerXml(response: ServerResponse, status: number, xml: string, headers: Record<string, string> = {}): void {
  const body = Buffer.from(`<?xml version="1.0" encoding="utf-8"?>\n${xml}`)
  response.writeHead(status, {
    ...guardHeaders,
    "Cache-Control": "no-store",
    "Content-Type": "application/xml; charset=utf-8",
    "Content-Length": String(body.length),
    ...headers,
  })
  response.end(response.req.method === "HEAD" ? undefined : body)
}

/**
 * Answers a failure, in DAV's own XML where the refusal carries a condition. A failure that is no
 * refusal is told to `report`, and nobody else.
 */
export async function answerFailure(
  response: ServerResponse,
  error: unknown,
  { report, isProved = false }: { report: (error: unknown) => void; isProved?: boolean },
): Promise<void> {
  if (error instanceof ClientGone || error instanceof IncompleteBody || response.destroyed) return
  const refusal = fileFailure(error)
  if (!refusal) report(error)
  if (response.headersSent) {
    response.destroy()
    return
  }
  const told = refusal ?? new Failure("internal", "The file server failed; its log tells more")
  // Who waits for `100 Continue` may send no body at all.
  const ends = await drainBody(response.req, {
    ...(isProved ? {} : anonymousDrain),
    ...(response.req.headers.expect === undefined ? {} : { answerBefore: 0 }),
  })
  const headers = { ...told.headers, ...(ends ? { Connection: "close" } : {}) }
  if (told instanceof DavFailure && told.condition !== undefined) {
    answerXml(response, told.status, `<D:error xmlns:D="DAV:">${told.condition}</D:error>`, headers)
    return
  }
  const body = Buffer.from(JSON.stringify(told.toBody()))
  response.writeHead(told.status, {
    ...guardHeaders,
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": String(body.length),
    ...headers,
  })
  response.end(response.req.method === "HEAD" ? undefined : body)
}
