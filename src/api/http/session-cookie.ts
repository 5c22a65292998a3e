import type { IncomingMessage } from "node:http"
import { setCookie, uniqueCookie } from "#http"

const sessionName = "quayside_session"

/**
 * With TLS the name makes browsers refuse the cookie from anywhere but this host, for all paths and
 * securely.
 */
function fullName(name: string, secure: boolean): string {
  return secure ? `__Host-${name}` : name
}

/** A cookie of Quayside's as the browser sent it. */
export function cookieOf({ headers }: IncomingMessage, name: string, secure: boolean): string | undefined {
  return uniqueCookie(headers.cookie, fullName(name, secure))
}

/** A `Set-Cookie` that sets a value, or removes it. */
export function cookieHeader(name: string, value: string | undefined, options: { secure: boolean; maxAgeSeconds: number }): string {
  const { secure, maxAgeSeconds } = options
  return setCookie(fullName(name, secure), value ?? "", { secure, maxAgeSeconds: value === undefined ? 0 : maxAgeSeconds })
}

/** The session's secret as the browser sent it. */
export function sessionOf(request: IncomingMessage, secure: boolean): string | undefined {
  return cookieOf(request, sessionName, secure)
}

/** A `Set-Cookie` that sets a session's secret, or removes it. */
export function sessionCookie(secret: string | undefined, options: { secure: boolean; maxAgeSeconds: number }): string {
  return cookieHeader(sessionName, secret, options)
}
