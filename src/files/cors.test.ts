import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { TestFilesServer } from "../../test/fixtures/files/files-server.ts"

const origin = "http://localhost:8080"
let shared: TestFilesServer
let closed: TestFilesServer
before(async () => {
  shared = await TestFilesServer.start({ allowedOrigin: origin })
  closed = await TestFilesServer.start()
})
after(async () => {
  await shared[Symbol.asyncDispose]()
  await closed[Symbol.asyncDispose]()
})

const parameters = { "access-control-request-method": "PUT", "access-control-request-headers": "authorization" }

test("pages of the allowed origin may use the files address with their own credentials", async () => {
  const preflight = await shared.ask("OPTIONS", "/users/ann/x", { user: null, headers: { origin, ...parameters } })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers["access-control-allow-origin"], origin)
  assert.match(String(preflight.headers["access-control-allow-methods"]), /PUT/)
  assert.match(String(preflight.headers["access-control-allow-headers"]), /Authorization/)
  const put = await shared.ask("PUT", "/users/ann/x", { headers: { origin, "sec-fetch-site": "same-site" }, body: "x" })
  assert.equal(put.status, 201)
  assert.equal(put.headers["access-control-allow-origin"], origin)
  assert.match(String(put.headers["access-control-expose-headers"]), /ETag/)
  for (const answer of [preflight, put]) {
    assert.equal(answer.headers["access-control-allow-credentials"], undefined)
    assert.equal(answer.headers.vary, "Origin")
  }
})

test("pages of any other origin are refused", async () => {
  for (const other of ["http://localhost:8081", "https://localhost:8080", "null", "http://localhost:8080.evil.example"]) {
    const preflight = await shared.ask("OPTIONS", "/users/ann/x", { user: null, headers: { origin: other, ...parameters } })
    assert.equal(preflight.status, 401)
    assert.equal(preflight.headers["access-control-allow-origin"], undefined)
    assert.equal((await shared.ask("PUT", "/users/ann/x", { headers: { origin: other }, body: "" })).status, 403)
  }
})

test("pages are refused without an allowed origin", async () => {
  const preflight = await closed.ask("OPTIONS", "/users/ann/x", { headers: { origin, ...parameters } })
  assert.equal(preflight.headers["access-control-allow-origin"], undefined)
  assert.equal((await closed.ask("PUT", "/users/ann/x", { headers: { origin }, body: "" })).status, 403)
})
