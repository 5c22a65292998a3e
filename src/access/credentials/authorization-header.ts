import { bounds } from "#contract"
import { AuthenticationFailure } from "../caller.ts"

/** A parsed `Authorization` header that has not been verified. */
export type ParsedAuthorization =
  | { scheme: "basic"; userName: string; password: string }
  | { scheme: "token"; token: string }
  | { scheme: "files"; token: string }

/** Longest password in bytes of UTF-8. */
export const maxPasswordBytes = bounds.accounts.passwordBytes.value

const tokenForm = /^qs_[A-Za-z0-9_-]{43}$/
const filesTokenForm = /^qf_[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/
const base64Form = /^[A-Za-z0-9+/]+={0,2}$/
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export function isTokenFormat(text: string): boolean {
  return tokenForm.test(text)
}

/**
 * Parses an `Authorization` header. The refusal names the malformed part: that reveals nothing
 * about any account.
 */
export function parseAuthorization(header: string): ParsedAuthorization | AuthenticationFailure {
  const match = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+) +(\S+)$/.exec(header.trim())
  if (!match) return malformed("have the form `Basic …` or `Bearer …`")
  const [, scheme = "", value = ""] = match
  if (/^basic$/i.test(scheme)) return readBasic(value)
  if (/^bearer$/i.test(scheme)) return readBearer(value)
  return malformed(`be Basic or Bearer, not ${scheme.slice(0, 40)}`)
}

function readBasic(value: string): ParsedAuthorization | AuthenticationFailure {
  if (!base64Form.test(value)) return malformed("contain Base64 after Basic")
  const text = decode(Buffer.from(value, "base64"))
  if (text === undefined) return malformed("contain UTF-8 in Base64 after Basic")
  const colon = text.indexOf(":")
  if (colon < 0) return malformed("contain a user name, a colon and a password after Basic")
  return { scheme: "basic", userName: text.slice(0, colon), password: text.slice(colon + 1) }
}

function decode(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function readBearer(token: string): ParsedAuthorization | AuthenticationFailure {
  if (tokenForm.test(token)) return { scheme: "token", token }
  if (token.length <= 2048 && filesTokenForm.test(token)) return { scheme: "files", token }
  return malformed("contain a token after Bearer: qs_ and 43 characters")
}

function malformed(wanted: string): AuthenticationFailure {
  return new AuthenticationFailure("unauthorized", `No user name could be read: the Authorization header must ${wanted}`)
}

/**
 * The one `Authorization` header of a request, from its raw headers (name, value, name, value, …).
 * Node's own `headers` has only the first of several, so a second one would go unnoticed.
 */
export function readAuthorizationHeader(rawHeaders: readonly string[]): string | undefined | AuthenticationFailure {
  let found: string | undefined
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== "authorization") continue
    if (found !== undefined)
      return new AuthenticationFailure("unauthorized", "There must be one Authorization header, for one user name; got two")
    found = rawHeaders[i + 1]
  }
  return found
}
