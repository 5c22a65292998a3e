import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { test } from "node:test"
import { setTimeout as after } from "node:timers/promises"
import { bounds } from "#contract"
import { createLogger } from "#kit"
import { Browser } from "../fixtures/cookie-jar.ts"
import { eventually } from "../fixtures/eventually.ts"
import { startHostileIssuer } from "../fixtures/openid/hostile-issuer.ts"
import { startTestServer } from "../test-server.ts"

const { openIdCallbacks, waitingOpenIdCallbacks } = bounds.accounts

test("a crowd from one address that returns with made-up codes asks the provider few times at once, and fills no log", async () => {
  await using issuer = await startHostileIssuer()
  const lines: string[] = []
  const logger = createLogger("warn", (line) => lines.push(line))
  const settings = { "oidc-issuer": issuer.url, "oidc-client-id": "quayside", "oidc-client-secret": "s" }
  await using server = await startTestServer(settings, logger)
  const { baseUrl } = server.quayside
  const begun = await Promise.all(
    Array.from({ length: 60 }, async () => {
      const browser = new Browser()
      const { headers } = await browser.ask(`${baseUrl}/oidc/login`)
      const state = new URL(headers.get("location") ?? "").searchParams.get("state")
      return () => browser.ask(`${baseUrl}/oidc/callback?code=made-up&state=${state}`)
    }),
  )
  const asked: ServerResponse[] = []
  issuer.spoiled["/token"] = (response) => void asked.push(response)
  let rejected = 0
  const answers = begun.map(async (returnWithCode) => {
    const { status } = await returnWithCode()
    if (status === 429) rejected += 1
    return status
  })
  const allowed = openIdCallbacks.value + waitingOpenIdCallbacks.value
  await eventually("those beyond the limit are rejected", () => rejected === begun.length - allowed)
  await eventually("some are asked about", () => asked.length >= openIdCallbacks.value)
  await after(200)
  assert.equal(asked.length, openIdCallbacks.value)
  issuer.spoiled = {}
  issuer.tokenAnswer = { status: 400, body: '{"error": "invalid_grant"}' }
  for (const response of asked) response.writeHead(400, { "content-type": "application/json" }).end(issuer.tokenAnswer.body)
  const statuses = await Promise.all(answers)
  assert.equal(statuses.filter((status) => status === 401).length, allowed)
  // A cause has a kilobyte: the log would fill the disk.
  assert.equal(lines.filter((line) => line.includes("a sign-in by the OpenID provider failed")).length, 1)
})
