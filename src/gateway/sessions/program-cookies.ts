import { bounds } from "#contract"
import type { Signer } from "#kit"
import { confineCookie } from "./cookies.ts"

/**
 * Separates programs' cookies if their origins are ports: browsers send a host's cookies to all of
 * its ports.
 *
 * They are named after the port, signed for the run and the visitor, and hidden from scripts.
 * Cookies that a script sets reach no program. Each instance serves one request.
 */
export class ProgramCookies {
  readonly #signer: Signer
  readonly #owner: string
  readonly #prefix: string
  /** A request may name hundreds, and each signature costs microseconds. */
  #toVerify: number = bounds.gateway.programCookies.value

  constructor({ signer, port, key, userId }: { signer: Signer; port: number; key: string; userId: number }) {
    this.#signer = signer
    this.#owner = `${key} ${userId}`
    this.#prefix = `quayside-at-${port}-`
  }

  /**
   * A browser's `Cookie` as this run's program may read it; undefined when nothing is left. Of all
   * such headers of the request, the first 64 cookies of this port count.
   */
  decode(header: string): string | undefined {
    const own: string[] = []
    for (const pair of header.split(";")) {
      const text = pair.trim()
      const equals = text.indexOf("=")
      if (equals < 0 || !text.startsWith(this.#prefix)) continue
      if (this.#toVerify === 0) break
      this.#toVerify -= 1
      const name = text.slice(this.#prefix.length, equals)
      const signed = this.#signer.verify(text.slice(equals + 1))
      if (!Array.isArray(signed) || signed[0] !== this.#owner || signed[1] !== name) continue
      own.push(`${name}=${signed[2]}`)
    }
    return own.length === 0 ? undefined : own.join("; ")
  }

  /**
   * A program's `Set-Cookie` as the browser receives it; undefined if the program may not set it.
   */
  encode(setCookie: string): string | undefined {
    const held = confineCookie(setCookie)
    if (held === undefined) return undefined
    const [pair = "", ...attributes] = held.split(";")
    const [, name = "", value = ""] = /^\s*([^=\s]+)\s*=(.*)$/s.exec(pair) ?? []
    if (name === "") return undefined
    const signed = this.#signer.sign([this.#owner, name, value.trim()])
    if (signed.length > maxCookieLength) return undefined
    const kept = attributes.filter((attribute) => !/^\s*httponly\s*(?:=|$)/i.test(attribute))
    return [`${this.#prefix}${name}=${signed}`, ...kept, " HttpOnly"].join(";")
  }
}

/** The limit of browsers for a cookie, below the limit of `Signer`. */
const maxCookieLength = bounds.gateway.cookieCharacters.value
