import { basicAuth, type Client, createClient } from "#client"

/** A client for the server and the person that the environment names. */
export function connect(): Client {
  const { QUAYSIDE_API: baseUrl = "http://localhost:8080", QUAYSIDE_PROOF: proof = "" } = process.env
  const colon = proof.indexOf(":")
  if (colon < 0) throw new Error("Set QUAYSIDE_PROOF to <user name>:<password or token>")
  return createClient({ baseUrl, authorization: basicAuth(proof.slice(0, colon), proof.slice(colon + 1)) })
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
