import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { freePorts } from "../../../test/fixtures/free-ports.ts"
import { startHealthServer } from "./health-server.ts"

const fine = { ok: true, msg: "" }
const readiness = async () => ({ engine: fine, files: fine, store: fine })

test("a probe is answered beside hundreds of connections that send nothing, of which the oldest end", async () => {
  const [port = 0] = await freePorts(1)
  await using _server = await startHealthServer({ host: "127.0.0.1", port, readiness })
  const idle = await Promise.all(
    Array.from({ length: 300 }, async () => {
      const socket = connect(port, "127.0.0.1")
        .on("error", () => {})
        .resume()
      await once(socket, "connect")
      return socket
    }),
  )
  for (let i = 0; i < 5; i += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/healthz`)
    assert.deepEqual(await answer.json(), { ok: true })
  }
  // Long before the time-out, which closes all at once.
  await eventually("the oldest is closed", () => idle[0]?.closed === true)
  assert.equal(idle.at(-1)?.closed, false)
  for (const socket of idle) socket.destroy()
})
