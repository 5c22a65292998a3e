import assert from "node:assert/strict"
import { test } from "node:test"
import { client } from "./client.ts"

test("a body that the contract refuses is not sent, and the refusal names its field", async (t) => {
  const fetch = t.mock.method(globalThis, "fetch", async () => new Response('{"ID":7}', { status: 200 }))
  await assert.rejects(client.createData({ body: { Name: " " } }), { code: "invalid", field: "Name" })
  await assert.rejects(client.createData({ body: { Comment: "without a name" } }), { code: "invalid", field: "Name" })
  await assert.rejects(client.updateImage({ body: { ID: 7, Port: "70000" } }), { code: "invalid", field: "Port" })
  await assert.rejects(client.updateImage({ body: { ID: 7, Doc: "\u0007" } }), { code: "invalid", field: "Doc" })
  assert.equal(fetch.mock.callCount(), 0)
  assert.deepEqual(await client.updateImage({ body: { ID: 7, Port: "8000" } }), { ID: 7 })
  assert.deepEqual(await client.readImage({ query: { ID: 7 } }), { ID: 7 })
  assert.deepEqual(
    fetch.mock.calls.map(({ arguments: [url] }) => url),
    ["/image", "/image?ID=7"],
  )
})
