/** A program on the person's own machine that asks for a token (RFC 8252). */
export interface AuthorizeRequest {
  /** How the program calls itself and its machine; nobody has checked it. */
  name: string
  /** SHA-256 of its verifier. */
  challenge: string
  /** Told back to the program, which knows its own sign-in by it. */
  state: string
  /** The port of this machine on which it listens. */
  port: number
}

const maxName = 200
const digest = /^[\w-]{43}$/

/** The parameters of the address; anybody can write one. Undefined: it is none of a program. */
export function parseAuthorizeRequest({ name, challenge, state, port }: Record<string, unknown>): AuthorizeRequest | undefined {
  // The router parses a name such as `12` as a number.
  const text = typeof name === "number" ? String(name) : name
  if (typeof text !== "string" || text.trim() === "" || text.length > maxName) return undefined
  if (typeof challenge !== "string" || !digest.test(challenge)) return undefined
  if (typeof state !== "string" || !digest.test(state)) return undefined
  if (typeof port !== "number" || !Number.isInteger(port) || port < 1 || port > 65_535) return undefined
  return { name: text, challenge, state, port }
}

/** The program's address. The host is fixed: no address leads a code to another machine. */
export function redirectUri({ port, state }: AuthorizeRequest, outcome: { code: string } | { error: "access_denied" }): string {
  return `http://127.0.0.1:${port}/callback?${new URLSearchParams({ ...outcome, state })}`
}
