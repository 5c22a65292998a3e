import assert from "node:assert/strict"
import type { IncomingMessage, ServerResponse } from "node:http"
import { test } from "node:test"
import { TrustedProxies } from "#http"
import { currentReader } from "#store"
import type { ServerState, Services } from "../context.ts"
import { runOperation } from "../operation.ts"
import { RequestContext } from "./request-context.ts"

test("what a stranger sends without credentials is looked up as their address", async () => {
  const readers: unknown[] = []
  const exists = async () => {
    readers.push(currentReader())
    return false
  }
  const services = {
    identity: { invalidations: () => 0, sessions: { exists } },
    settings: { secureCookies: false, origin: undefined },
  } as unknown as Services
  const headers = { cookie: "quayside_session=made-up", "sec-fetch-site": "same-origin" }
  const request = { method: "DELETE", url: "/session", headers, rawHeaders: [], socket: { remoteAddress: "10.0.0.1" } }
  const response = { destroyed: true, destroy() {} }
  const context = new RequestContext(request as unknown as IncomingMessage, response as unknown as ServerResponse, new TrustedProxies([]))
  await runOperation(services, "deleteSession", context, { reserveServices: services } as ServerState)
  assert.deepEqual(readers, ["address 10.0.0.1"])
})
