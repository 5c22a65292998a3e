import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { GatewayFixture, navigationHeaders } from "../testing/gateway-fixture.ts"

const samePage = { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }

test("a page of the program is told when its run will end, and can keep it", async () => {
  await using fixture = await GatewayFixture.open()
  const { cookie } = await fixture.enter()
  const headers = { cookie, ...samePage }
  fixture.runs.activity.length = 0
  fixture.runs.plannedEnds.set(1, { expiresAt: null, idleExpiresAt: Date.UTC(2026, 0, 2, 3, 4, 5) })

  const told = await fixture.ask(fixture.origin, "/.quayside/run", { headers })
  assert.equal(told.status, 200)
  assert.equal(told.headers["cache-control"], "no-store")
  assert.deepEqual(JSON.parse(told.text), { ID: 1, ExpiresAt: null, IdleExpiresAt: "2026-01-02T03:04:05.000Z" })
  assert.deepEqual(fixture.runs.activity, [], "asking is no use of the run")

  const kept = await fixture.ask(fixture.origin, "/.quayside/keep", { method: "POST", headers })
  assert.equal(kept.status, 200)
  assert.deepEqual(fixture.runs.activity, [1])
  assert.deepEqual(fixture.program.requests, [])
})

test("nobody else is told when a run ends or can keep it", async () => {
  const clock = new ManualClock()
  await using fixture = await GatewayFixture.open({ clock })
  const { cookie } = await fixture.enter()
  fixture.runs.activity.length = 0
  const ask = async (path: string, method: string, headers: Record<string, string>) =>
    (await fixture.ask(fixture.origin, path, { method, headers })).status
  assert.equal(await ask("/.quayside/run", "GET", samePage), 401)
  assert.equal(await ask("/.quayside/keep", "POST", samePage), 401)
  assert.equal(await ask("/.quayside/run", "GET", { cookie, "sec-fetch-site": "cross-site", "sec-fetch-dest": "empty" }), 403)
  assert.equal(await ask("/.quayside/keep", "POST", { cookie, "sec-fetch-site": "same-site" }), 403)
  assert.equal(await ask("/.quayside/keep", "GET", { cookie, ...navigationHeaders }), 405)
  fixture.runs.rights.clear()
  await clock.advance(2_000)
  assert.equal(await ask("/.quayside/keep", "POST", { cookie, ...samePage }), 401)
  assert.deepEqual(fixture.runs.activity, [])
})
