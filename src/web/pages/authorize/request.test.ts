import assert from "node:assert/strict"
import { test } from "node:test"
import { parseAuthorizeRequest, redirectUri } from "./request.ts"

const valid = { name: "quayside on host", challenge: "c".repeat(43), state: "s".repeat(43), port: 40_000 }

test("a program's request is parsed, and its answer goes to its port of this machine", () => {
  const request = parseAuthorizeRequest(valid)
  assert.deepEqual(request, valid)
  assert.ok(request)
  assert.equal(redirectUri(request, { code: "a&b" }), `http://127.0.0.1:40000/callback?code=a%26b&state=${valid.state}`)
  assert.equal(redirectUri(request, { error: "access_denied" }), `http://127.0.0.1:40000/callback?error=access_denied&state=${valid.state}`)
})

test("a request that names another host, or lacks a part, is none", () => {
  const ports = [
    "40000",
    "80@elsewhere.example",
    "80.elsewhere.example",
    0,
    -1,
    65_536,
    1.5,
    Number.NaN,
    [80],
    { port: 80 },
    null,
    undefined,
  ]
  for (const port of ports) assert.equal(parseAuthorizeRequest({ ...valid, port }), undefined, String(port))
  const texts = ["", " ", "c".repeat(42), `${"c".repeat(42)}&`, `${"c".repeat(43)}\n`, 1, null, undefined]
  for (const field of ["challenge", "state"]) {
    for (const text of texts) assert.equal(parseAuthorizeRequest({ ...valid, [field]: text }), undefined, `${field} ${text}`)
  }
  for (const name of ["", " ", "n".repeat(201), [], undefined]) assert.equal(parseAuthorizeRequest({ ...valid, name }), undefined)
  assert.equal(parseAuthorizeRequest({ ...valid, name: 12 })?.name, "12")
})

test("parameters beside a program's own change nothing", () => {
  const more = { ...valid, host: "elsewhere.example", redirect_uri: "https://elsewhere.example" }
  assert.deepEqual(parseAuthorizeRequest(more), valid)
})
