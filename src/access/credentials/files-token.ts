import { createHmac, timingSafeEqual } from "node:crypto"
import type { Caller } from "../caller.ts"

const filesTokenMs = 5 * 60_000

/** A person and a credential of theirs. */
export interface CredentialClaims {
  userId: number
  /** Of a files token: `files:<expiry>:<id of the credential that created it>`. */
  credentialId: string
}

/**
 * Signs a token that only the files address accepts. Any process with the same key can read it; it
 * ends with the credential that created it.
 */
export function signFilesToken(key: Uint8Array, caller: Caller, now: number): { token: string; expiresAt: number } {
  const expiresAt = now + filesTokenMs
  const payload = Buffer.from(JSON.stringify([caller.userId, `files:${expiresAt}:${caller.credential.id}`])).toString("base64url")
  return { token: `qf_${payload}.${sign(key, payload)}`, expiresAt }
}

/**
 * The claims of a token of `signFilesToken`; undefined when this key did not sign it. Its expiry is
 * not checked here.
 */
export function verifyFilesToken(key: Uint8Array, token: string): CredentialClaims | undefined {
  const [payload = "", signature = ""] = token.slice("qf_".length).split(".")
  // Compared as text: two texts can encode the same bytes, and only one of them was issued.
  const given = Buffer.from(signature)
  const right = Buffer.from(sign(key, payload))
  if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined
  const [userId, credentialId] = JSON.parse(Buffer.from(payload, "base64url").toString()) as [number, string]
  return { userId, credentialId }
}

/** The credential that a files token was made with; of another credential itself. */
export function originOf({ credentialId }: CredentialClaims): string {
  if (!credentialId.startsWith("files:")) return credentialId
  return credentialId.slice(credentialId.indexOf(":", "files:".length) + 1)
}

function sign(key: Uint8Array, payload: string): string {
  return createHmac("sha256", key).update(`files token\n${payload}`).digest("base64url")
}
