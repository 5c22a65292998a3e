import type { IncomingMessage } from "node:http"

/**
 * With TLS the name makes browsers refuse the cookie from anywhere but this host, for all paths and
 * securely.
 */
function fullName(name: string, secure: boolean): string {
  return secure ? `__Host-${name}` : name
}

/**
 * A cookie of Quayside's as the browser sent it. Where a name stands twice, somebody planted one:
 * then none counts.
 */
export function cookieOf(request: IncomingMessage, name: string, secure: boolean): string | undefined {
  const header = request.headers.cookie
  if (header === undefined) return undefined
  const prefix = `${fullName(name, secure)}=`
  const values = header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
  return values.length === 1 ? values[0]?.slice(prefix.length) : undefined
}

/**
 * A `Set-Cookie` that hands out a value, or takes it back. `Lax`, since other origins send the
 * browser here.
 */
export function handOut(name: string, value: string | undefined, options: { secure: boolean; maxAgeSeconds: number }): string {
  const { secure, maxAgeSeconds } = options
  const age = value === undefined ? 0 : maxAgeSeconds
  return `${fullName(name, secure)}=${value ?? ""}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? "; Secure" : ""}`
}
