import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { bounds, endpoints, type OperationId, operationIds } from "#contract"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { signIn } from "../fixtures/browser-session.ts"
import { startTestServer } from "../test-server.ts"
import { forEachConcurrently, requestFor } from "./requests.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl, appsUrl, filesUrl } = server.quayside
/** Without a configured base URL the `Host`'s origin counts as Quayside's. */
const here = baseUrl.replace("localhost", "127.0.0.1")
const ann = await server.person("ann", { IsAdmin: true })
const visitor = await server.person("visitor")
const image = await ann.client.createImage({ body: { Name: "web", Image: "fake/http" } })

/** The headers that a browser sends for pages of other origins. */
const crossSiteHeaders: Record<string, Record<string, string>> = {
  "another site": { origin: "http://evil.example" },
  "another site that looks alike": { origin: `${here}.evil.example` },
  "another scheme": { origin: here.replace("http:", "ftp:") },
  "another port": { origin: "http://localhost:1" },
  "the apps address": { origin: appsUrl },
  "a run's own origin": { origin: appsUrl.replace("//", `//${"a".repeat(32)}.`) },
  "the files address": { origin: filesUrl },
  "an opaque origin": { origin: "null" },
  "no origin at all": { origin: "" },
  "cross-site": { "sec-fetch-site": "cross-site" },
  "same-site": { "sec-fetch-site": "same-site" },
  "cross-site, with Quayside's own origin": { origin: here, "sec-fetch-site": "cross-site" },
  "another site, with a forged same-origin header": { origin: "http://evil.example", "sec-fetch-site": "same-origin" },
}
const sameOriginHeaders: Record<string, string>[] = [
  { origin: here },
  { "sec-fetch-site": "same-origin" },
  { origin: here, "sec-fetch-site": "none" },
]

async function signedIn(): Promise<string> {
  const answer = await sendRequest(baseUrl, "POST", "/session", {
    body: { UserName: "ann", Password: ann.password },
    headers: { origin: here },
  })
  assert.equal(answer.status, 200, answer.text)
  return String(answer.headers["set-cookie"]).split(";")[0] as string
}
const cookie = await signedIn()

/** Every credential that a request can carry. */
const credentials: Record<string, Record<string, string>> = {
  "a token": { authorization: ann.authorization },
  "a password": { authorization: basicAuth("ann", ann.password) },
  "a token as a password": { authorization: basicAuth("ann", ann.authorization.replace("Bearer ", "")) },
  "a session": { cookie },
}

const writeOperations = operationIds.filter((operation) => endpoints[operation].method !== "GET")

function call(operation: OperationId, headers: Record<string, string>, prefix = ""): Promise<HttpAnswer> {
  const { method, path, body } = requestFor(operation, { id: image.ID })
  return sendRequest(baseUrl, method, prefix + path, { body, headers })
}

const isRefusedAsCrossSite = ({ status, body }: HttpAnswer) => status === 403 && /another origin|must carry Origin/.test(String(body.msg))

for (const [credential, credentialHeaders] of Object.entries(credentials)) {
  test(`every operation that writes refuses a page from elsewhere that carries ${credential}`, async () => {
    for (const [source, headers] of Object.entries(crossSiteHeaders)) {
      await forEachConcurrently(writeOperations, async (operation) => {
        const answer = await call(operation, { ...credentialHeaders, ...headers }, operation.length % 2 === 0 ? "" : "/admin")
        assert.ok(isRefusedAsCrossSite(answer), `${operation} from ${source}: ${answer.status} ${answer.text}`)
      })
    }
  })
}

test("operations without authentication also reject a cross-site request before they act", async () => {
  for (const headers of Object.values(crossSiteHeaders)) {
    const signIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "ann", Password: ann.password }, headers })
    assert.ok(isRefusedAsCrossSite(signIn), signIn.text)
    assert.equal(signIn.headers["set-cookie"], undefined)
    assert.ok(isRefusedAsCrossSite(await sendRequest(baseUrl, "DELETE", "/session", { headers: { cookie, ...headers } })))
  }
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { headers: { cookie } })).status, 200, "the session still works")
})

test("every operation rejects a session's write without origin headers", async () => {
  for (const operation of writeOperations) {
    if (operation === "createSession" || operation === "exchangeTokenCode") continue
    const answer = await call(operation, { cookie })
    assert.ok(isRefusedAsCrossSite(answer), `${operation}: ${answer.status} ${answer.text}`)
  }
})

test("the rejected writes changed nothing, and no other refusal hid them", async () => {
  const { data, pageCount } = await ann.client.listImages({ query: { UserName: "ann", pageSize: 1 } })
  assert.deepEqual([data.length, pageCount], [1, 1])
  for (const operation of writeOperations) {
    for (const headers of sameOriginHeaders) {
      for (const credentialHeaders of [credentials["a token"], credentials["a session"]] as Record<string, string>[]) {
        if (operation === "deleteSession") continue
        const answer = await call(operation, { ...credentialHeaders, ...headers })
        assert.ok(!isRefusedAsCrossSite(answer), `${operation}: ${answer.text}`)
      }
    }
  }
})

test("cross-site reads are answered without headers that share them with another origin", async () => {
  for (const headers of Object.values(crossSiteHeaders)) {
    const answer = await sendRequest(baseUrl, "GET", "/whoami", { headers: { ...credentials["a token"], ...headers } })
    assert.equal(answer.status, 200, answer.text)
    const shared = Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"))
    assert.deepEqual(shared, [])
  }
})

/** The operations that read as their caller; `metrics` needs no credentials from this machine. */
const readOperations = operationIds.filter((operation) => {
  const { method, permission } = endpoints[operation]
  return method === "GET" && permission !== "none" && operation !== "metrics"
})

test("no operation reads by a session for a page from elsewhere", async () => {
  for (const [source, headers] of Object.entries(crossSiteHeaders)) {
    for (const load of [
      {},
      { "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
      { "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
    ]) {
      await forEachConcurrently(readOperations, async (operation) => {
        const answer = await call(operation, { cookie, ...headers, ...load })
        assert.ok(isRefusedAsCrossSite(answer), `${operation} from ${source}: ${answer.status} ${answer.text}`)
      })
    }
  }
})

test("a page from elsewhere uses up none of the streams that a visitor of it may open", async () => {
  const { headers } = await signIn(baseUrl, visitor)
  const follow = (site: string) => sendRequest(baseUrl, "GET", "/events", { headers: { ...headers, "sec-fetch-site": site } })
  for (let i = 0; i <= bounds.rates.streams.value; i += 1) await follow("same-site")
  assert.equal((await follow("same-origin")).status, 200)
})

test("a link from elsewhere to what is read by a session works, as it opens a page of its own", async () => {
  const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
  assert.equal((await call("readImage", { cookie, ...link })).status, 200)
})
