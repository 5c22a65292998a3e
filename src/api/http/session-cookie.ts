import type { IncomingMessage } from "node:http"

/** The browser's cookie. With TLS its name makes browsers refuse it from anywhere but this host, for all paths and securely. */
export function sessionCookieName(secure: boolean): string {
  return secure ? "__Host-quayside_session" : "quayside_session"
}

/** The session's secret as the browser sent it. Where a name stands twice, somebody planted one: then none counts. */
export function sessionOf(request: IncomingMessage, secure: boolean): string | undefined {
  const header = request.headers.cookie
  if (header === undefined) return undefined
  const prefix = `${sessionCookieName(secure)}=`
  const values = header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
  return values.length === 1 ? values[0]?.slice(prefix.length) : undefined
}

/** A `Set-Cookie` that hands out a session's secret, or takes it back. `Lax`, since a run's own origin sends the browser here. */
export function sessionCookie(secret: string | undefined, options: { secure: boolean; maxAgeSeconds: number }): string {
  const { secure, maxAgeSeconds } = options
  const age = secret === undefined ? 0 : maxAgeSeconds
  return `${sessionCookieName(secure)}=${secret ?? ""}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? "; Secure" : ""}`
}
