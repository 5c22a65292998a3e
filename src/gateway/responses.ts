import type { GatewayRequest } from "./gateway-request.ts"
import { gatewayResponseHeaders } from "./pages.ts"

/** Redirects a browser, with the gateway's own cookies and headers. */
export function redirect(
  gatewayRequest: GatewayRequest,
  location: string,
  cookies: string[] = [],
  headers: Readonly<Record<string, string>> = {},
): void {
  send(gatewayRequest, 302, {
    body: "",
    type: "text/plain",
    headers: { ...headers, Location: location, ...(cookies.length > 0 ? { "Set-Cookie": cookies } : {}) },
  })
}

export interface GatewayResponse {
  body: string
  type: string
  headers: Readonly<Record<string, string | string[]>>
}

export function send({ response, expects }: GatewayRequest, status: number, { body, type, headers }: GatewayResponse): void {
  if (expects) response.shouldKeepAlive = false
  response.writeHead(status, {
    "Content-Type": `${type}; charset=utf-8`,
    "Content-Length": Buffer.byteLength(body),
    ...gatewayResponseHeaders,
    ...headers,
  })
  response.end(body)
}
