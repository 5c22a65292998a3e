import type { IncomingMessage } from "node:http"
import { cookieOf, handOut } from "./cookies.ts"

const name = "quayside_session"

/** The session's secret as the browser sent it. */
export function sessionOf(request: IncomingMessage, secure: boolean): string | undefined {
  return cookieOf(request, name, secure)
}

/** A `Set-Cookie` that hands out a session's secret, or takes it back. */
export function sessionCookie(secret: string | undefined, options: { secure: boolean; maxAgeSeconds: number }): string {
  return handOut(name, secret, options)
}
