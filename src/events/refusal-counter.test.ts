import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { ManualClock, silentLogger } from "#kit"
import { type AuditRow, openStore, unrestrictedViewer } from "#store"
import { openEvents } from "./events.ts"

async function openFixture() {
  const directory = await mkdtemp(join(tmpdir(), "quayside-refusals-"))
  const clock = new ManualClock(Date.UTC(2026, 0, 1, 12, 0, 30))
  const store = await openStore({ url: `sqlite:${join(directory, "quayside.db")}`, logger: silentLogger, clock })
  const events = openEvents({ store, clock, logger: silentLogger })
  const rows = async () => (await store.audits.list({}, unrestrictedViewer, { page: 1, pageSize: 200 })).rows
  const refuse = (userName: string, action: string, requestId = "r") =>
    events.requestRefused({ userName, address: "::1", requestId }, action, { code: "forbidden" })
  return {
    ...{ clock, store, events, rows, refuse },
    /** Resolves with the rows when there are so many. */
    async written(count: number): Promise<AuditRow[]> {
      for (;;) {
        const written = await rows()
        if (written.length >= count) return written
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    async [Symbol.asyncDispose]() {
      await events[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

test("a flood of refusals is written as one row per actor, action and minute, after the minute ends", async () => {
  await using fixture = await openFixture()
  for (let i = 0; i < 5_000; i += 1) fixture.refuse("-", "whoami", `r${i}`)
  fixture.refuse("ann", "whoami")
  fixture.refuse("ann", "readImage")
  assert.deepEqual(await fixture.rows(), [], "a row is not changed: it is written when its count is known")
  await fixture.clock.advance(30_000)
  const rows = await fixture.written(3)
  assert.deepEqual(rows.map(({ actor, action, count, outcome, at }) => [actor, action, count, outcome, at]).reverse(), [
    ["-", "whoami", 5_000, "refused", Date.UTC(2026, 0, 1, 12, 0, 30)],
    ["ann", "whoami", 1, "refused", Date.UTC(2026, 0, 1, 12, 0, 30)],
    ["ann", "readImage", 1, "refused", Date.UTC(2026, 0, 1, 12, 0, 30)],
  ])
  assert.equal(rows.at(-1)?.requestId, "r0", "the first one's")
  fixture.refuse("ann", "whoami")
  await fixture.clock.advance(60_000)
  assert.deepEqual([(await fixture.written(4)).length, (await fixture.rows())[0]?.count], [4, 1])
})

test("counted refusals are written when the service stops", async () => {
  await using fixture = await openFixture()
  fixture.refuse("ann", "whoami")
  await fixture.events[Symbol.asyncDispose]()
  assert.equal((await fixture.rows()).length, 1)
})

test("counts of many actors and actions are written early instead of filling memory", async () => {
  await using fixture = await openFixture()
  for (let i = 0; i < 2_500; i += 1) fixture.refuse(`user${i}`, "whoami")
  await fixture.written(200)
  await fixture.clock.advance(30_000)
  await fixture.events[Symbol.asyncDispose]()
  assert.equal((await fixture.store.audits.list({}, unrestrictedViewer, { page: 1, pageSize: 1 })).total, 2_500)
})
