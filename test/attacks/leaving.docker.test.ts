import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { sendRequest } from "../api/http-client.ts"
import { startTestServer } from "../test-server.ts"

test("a caller who disconnects during a check or a pull does not interrupt others", async () => {
  await using server = await startTestServer({ engine: "docker" })
  const { baseUrl } = server.quayside
  const ann = await server.person("ann")
  const { ID } = await server.admin.createImage({ body: { Name: "web", Image: "quayside/python-app", IsPublished: true } })
  // The check of an existing image takes some milliseconds: each caller disconnects a little later
  // than the one before.
  for (let n = 0; n < 150; n += 1) {
    const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1").on("error", () => {})
    const prefer = n % 3 === 0 ? "" : "Prefer: respond-async\r\n"
    const path = n % 5 === 0 ? "check" : "pull"
    const method = path === "check" ? "GET" : "POST"
    socket.write(`${method} /image/${path}?ID=${ID} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${ann.authorization}\r\n${prefer}\r\n`)
    await once(socket, "connect")
    await sleep(n / 10)
    socket.resetAndDestroy()
  }
  // An uncaught error would have ended the process.
  assert.equal((await sendRequest(baseUrl, "GET", `/image/check?ID=${ID}`, { as: ann.authorization })).status, 200)
})
