import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { test } from "node:test"
import { PersonLimiter } from "#http"
import { type SendOptions, sendRequest } from "../api/http-client.ts"
import { startTestServer, type TestServer } from "../test-server.ts"

/*
 * The thief of a token can do all that its person may do at a time or in a minute. The person must
 * still be able to end it.
 */

/** Ann, her password, and a token of hers that somebody else has. */
async function withStolenToken(server: TestServer) {
  const ann = await server.person("ann")
  const { Token, ID } = await ann.client.createToken({ body: { Name: "lost" } })
  const { baseUrl } = server.quayside
  const send = (as: string, method: string, path: string, body?: SendOptions["body"]) => sendRequest(baseUrl, method, path, { as, body })
  const byThief = (method: string, path: string, body?: object) => send(`Bearer ${Token}`, method, path, body)
  const byAnn = (method: string, path: string, body?: object) => send(ann.authorization, method, path, body)
  return { ann, token: Token, tokenId: ID, byThief, byAnn }
}

const image = { Name: "i", Image: "fake/ready" }

test("a token that uses up the changes of a minute is found and ended", async () => {
  await using server = await startTestServer({ "writes-per-minute": "20" })
  const { ann, tokenId, byThief, byAnn } = await withStolenToken(server)
  const statuses = new Set<number>()
  while (!statuses.has(429)) statuses.add((await byThief("DELETE", "/image?ID=1")).status)
  assert.equal((await byAnn("POST", "/image", image)).status, 429)

  const signIn = { UserName: "ann", Password: ann.password }
  assert.equal((await sendRequest(server.quayside.baseUrl, "POST", "/session", { body: signIn })).status, 200)
  assert.equal((await byAnn("DELETE", `/session?All=1`)).status, 200)
  assert.equal((await byAnn("DELETE", `/token?ID=${tokenId}`)).status, 200)
  assert.equal((await byThief("GET", "/tokens")).status, 401)
  const { ID } = await ann.client.readUser({ query: { UserName: "ann" } })
  const password = { ID, Password: "another-password", CurrentPassword: ann.password }
  const changed = await byAnn("PUT", "/user", password)
  assert.equal(changed.status, 200, changed.text)
})

test("a token is ended before the changes that wait for others with it", { timeout: 30_000 }, async (t) => {
  await using server = await startTestServer()
  const { tokenId, byThief, byAnn } = await withStolenToken(server)
  const slowDisk = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const { run } = PersonLimiter.prototype
  const slow = t.mock.method(PersonLimiter.prototype, "run", function (this: PersonLimiter, person: number, work: () => Promise<unknown>) {
    slow.mock.restore()
    begun.resolve()
    return run.call(this, person, () => slowDisk.promise.then(work))
  })
  const first = byThief("POST", "/image", image)
  await begun.promise
  const second = byThief("POST", "/image", image)
  assert.equal((await byAnn("DELETE", `/token?ID=${tokenId}`)).status, 200)
  slowDisk.resolve()
  await first
  assert.equal((await second).status, 401)
})

test("a token that is used on all connections of its person is found and ended", async () => {
  await using server = await startTestServer({ "max-connections-per-person": "10" })
  const { token, tokenId, byThief, byAnn } = await withStolenToken(server)
  const { hostname, port } = new URL(server.quayside.baseUrl)
  for (let n = 0; n < 10; n += 1) {
    const socket = connect(Number(port), hostname)
    socket.write(`GET /events HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    await once(socket, "data")
  }
  assert.equal((await byThief("GET", "/images")).status, 429)
  assert.equal((await byAnn("GET", "/images")).status, 429)
  const { body } = await byAnn("GET", "/tokens")
  assert.ok((body as { data?: { ID: number }[] }).data?.some(({ ID }) => ID === tokenId))
  assert.equal((await byAnn("DELETE", `/token?ID=${tokenId}`)).status, 200)
})

test("requests that change nothing of their person's account write nothing, of which each token may send thousands a minute", async () => {
  await using server = await startTestServer()
  const { ann, byThief } = await withStolenToken(server)
  const before = await ann.client.readUser({ query: { UserName: "ann" } })
  for (const body of [{ ID: before.ID }, { ...before, Password: "" }]) {
    const { status, text, body: answer } = await byThief("PUT", "/user", body)
    assert.deepEqual([status, answer], [200, before], text)
  }
  const stale = await sendRequest(server.quayside.baseUrl, "PUT", "/user", {
    as: ann.authorization,
    body: { ID: before.ID },
    headers: { "If-Match": '"99"' },
  })
  assert.equal(stale.status, 412)
  const { data } = await server.admin.listAudit({ query: { Action: "user.updated" } })
  assert.deepEqual(data, [])
})
