import assert from "node:assert/strict"
import { type Endpoint, endpoints } from "#contract"
import { type Random, seededRandom } from "../fixtures/random.ts"
import { sendRaw } from "./http-client.ts"

const table = Object.values(endpoints) as Endpoint[]

const fragments = (authorization: string) => [
  "GET",
  "POST",
  "PUT",
  "DELETE",
  "HEAD",
  "PATCH",
  " ",
  "/",
  "/image",
  "/images?page=",
  "/project",
  "/running_project?ID=",
  "HTTP/1.1",
  "HTTP/1.0",
  "\r\n",
  "\n",
  "\r",
  "Host: localhost",
  "Content-Length: ",
  "Transfer-Encoding: chunked",
  "Content-Type: application/json",
  `Authorization: ${authorization}`,
  "Expect: 100-continue",
  "Connection: keep-alive",
  "Upgrade: websocket",
  "Cookie: quayside_session=",
  "{",
  "}",
  '"ID":',
  "[",
  "\0",
  "\xff",
  "%",
  "0",
  "5",
  "ffffffff",
  ":",
  "?",
  "&",
  "x".repeat(300),
]

/** Other tests create and end accounts, sessions and tokens. */
const revokesCredential = /^(POST|PUT|DELETE) (\/admin)?\/(session|user|token|group)/

/**
 * A random, possibly malformed request; undefined if it would revoke the credential of the others.
 */
function randomRequest(random: Random, authorization: string): Buffer | undefined {
  const all = fragments(authorization)
  const fragment = () => random.pick(all)
  const noise = () => Array.from({ length: random.below(12) }, fragment).join("")
  if (random.once(3)) return Buffer.from(noise() + noise(), "latin1")
  const { method, path } = random.pick(table)
  const body = random.once(2) ? noise() : `{"ID":${random.below(5)},"Name":"a"${random.once(3) ? noise() : "}"}`
  const length = random.once(5) ? random.below(200) : Buffer.byteLength(body, "latin1")
  const authorizationLine = random.once(3) ? "" : `Authorization: ${authorization}\r\n`
  const extra = random.once(4) ? `${noise()}\r\n` : ""
  const query = random.once(2) ? "" : `?${noise().replace(/[\s]/g, "")}`
  const text = `${method} ${path}${query} HTTP/1.1\r\nHost: localhost\r\n${authorizationLine}Content-Type: application/json\r\n${extra}Content-Length: ${length}\r\nConnection: close\r\n\r\n${body}`
  return revokesCredential.test(text) ? undefined : Buffer.from(text, "latin1")
}

/** Sends this many requests, 25 at a time, and asserts that no response is a server error. */
export async function sendRandomRequests(baseUrl: string, options: { authorization: string; seed: number; count: number }): Promise<void> {
  const random = seededRandom(options.seed)
  const send = async () => {
    const bytes = randomRequest(random, options.authorization)
    if (!bytes) return
    const answer = await sendRaw(baseUrl, bytes, { half: true, quietMs: 300 })
    assert.deepEqual(answer.match(/HTTP\/1\.1 5\d\d/g), null, `${JSON.stringify(bytes.toString("latin1"))}\n${answer.slice(0, 500)}`)
  }
  for (let i = 0; i < options.count; i += 25) await Promise.all(Array.from({ length: 25 }, send))
}
