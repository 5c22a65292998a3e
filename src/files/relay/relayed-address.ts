import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { Signer } from "#kit"

/** The client's address, signed by the process that passes its request on. */
export const relayHeader = "quayside-relay"

/** `key`: 32 bytes in base64, which the processes of an installation share. */
export function relaySigner(key: string): Signer {
  return new Signer(Buffer.from(key, "base64"), "files relay")
}

/** Undefined for a request that no process of this installation passed on. */
export function relayedAddress({ headers }: IncomingMessage, signer: Signer): string | undefined {
  const given = headers[relayHeader]
  const address = typeof given === "string" ? signer.verify(given) : undefined
  return typeof address === "string" && isIP(address) !== 0 ? address : undefined
}
