import { createHmac, timingSafeEqual } from "node:crypto"

/** Signs small JSON values for one purpose. Values signed for another purpose do not verify. */
export class Signer {
  readonly #key: Buffer

  /** `key` has at least 32 bytes; `purpose` names the signer and the use. */
  constructor(key: Uint8Array, purpose: string) {
    if (key.length < 32) throw new TypeError(`The key must have at least 32 bytes; got ${key.length}`)
    this.#key = createHmac("sha256", key).update(`quayside ${purpose}`).digest()
  }

  sign(value: unknown): string {
    const text = Buffer.from(JSON.stringify(value)).toString("base64url")
    return `${text}.${this.#mac(text).toString("base64url")}`
  }

  /** The signed value; undefined if this key did not sign exactly this text. */
  verify(signed: string): unknown {
    const match = /^([A-Za-z0-9_-]{1,4096})\.([A-Za-z0-9_-]{43})$/.exec(signed)
    const [, text = "", mac = ""] = match ?? []
    if (!match || !timingSafeEqual(this.#mac(text), Buffer.from(mac, "base64url"))) return undefined
    return JSON.parse(Buffer.from(text, "base64url").toString())
  }

  #mac(text: string): Buffer {
    return createHmac("sha256", this.#key).update(text).digest()
  }
}
