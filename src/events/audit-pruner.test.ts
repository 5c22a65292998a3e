import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { ManualClock, silentLogger } from "#kit"
import { type Change, openStore, type Store, unrestrictedViewer } from "#store"
import { eventually } from "../../test/fixtures/eventually.ts"
import { AuditPruner } from "./audit-pruner.ts"
import { openEvents } from "./events.ts"

const dayMs = 86_400_000

async function openFixture(maxAuditDays: number) {
  await using stack = new AsyncDisposableStack()
  const clock = new ManualClock()
  const directory = await mkdtemp(join(tmpdir(), "quayside-audit-"))
  stack.defer(() => rm(directory, { recursive: true }))
  const store = stack.use(await openStore({ url: `sqlite:${join(directory, "quayside.db")}`, logger: silentLogger, clock }))
  const events = stack.use(openEvents({ store, clock, logger: silentLogger, maxAuditDays }))
  const owned = stack.move()
  return {
    ...{ clock, store, events },
    async write(requestId: string, count: number) {
      const row = { actor: "ann", action: "image.created", resource: null, outcome: "done", address: "", requestId } as const
      await store.change(async (tx) => {
        for (let i = 0; i < count; i += 1) await tx.audit(row)
      })
    },
    left: async () => (await store.audits.list({}, unrestrictedViewer, { page: 1, pageSize: 1 })).total,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test("old audit rows are removed in small steps, and other writers proceed between the steps", async () => {
  await using fixture = await openFixture(2)
  await fixture.write("old", 1_200)
  await fixture.clock.advance(dayMs)
  await fixture.write("young", 3)
  await fixture.clock.advance(dayMs - 600_000)
  assert.equal(await fixture.left(), 1_203, "nothing is too old yet")
  await fixture.clock.advance(600_000)
  for (const [left, pause] of [
    [703, 50],
    [203, 50],
    [3, 600_000],
  ] as const) {
    await eventually(`${left} rows are left`, async () => (await fixture.left()) === left)
    await fixture.write("between", 0)
    await fixture.clock.advance(pause)
  }
  await fixture.clock.advance(600_000)
  assert.equal(await fixture.left(), 3, "what is young stays")
})

test("rows beyond an actor's maximum are removed, and no other actor's", async () => {
  await using fixture = await openFixture(0)
  await using pruner = new AuditPruner({
    store: fixture.store,
    maxDays: 400,
    maxRowsPerActor: 20,
    clock: fixture.clock,
    logger: silentLogger,
  })
  pruner.start()
  await fixture.write("loop", 620)
  await fixture.store.change((tx) =>
    tx.audit({ actor: "bob", action: "image.created", resource: null, outcome: "done", address: "", requestId: "one" }),
  )
  for (let n = 0; n < 620; n += 1) pruner.countRow("ann")
  pruner.countRow("bob")
  await fixture.clock.advance(600_000)
  await eventually("the first step is done", async () => (await fixture.left()) === 121)
  await fixture.write("between", 0)
  await fixture.clock.advance(50)
  await eventually("the newest are left", async () => (await fixture.left()) === 21)
})

test("refusals count towards an actor's maximum of rows", async () => {
  await using fixture = await openFixture(0)
  const pruned: string[] = []
  const watch = (tx: Change) =>
    new Proxy(tx, {
      get: (_, name) => (name === "pruneAuditOf" ? (actor: string) => void pruned.push(actor) : Reflect.get(tx, name).bind(tx)),
    })
  const change: Store["change"] = (work) => fixture.store.change((tx) => work(watch(tx)))
  const store = Object.create(fixture.store, { change: { value: change } }) as Store
  await using events = openEvents({ store, clock: fixture.clock, logger: silentLogger, maxAuditDays: 400 })
  const refuse = (userName: string, action: string) =>
    events.requestRefused({ userName, address: "", requestId: "" }, action, { code: "forbidden" })
  for (let n = 0; n < 500; n += 1) refuse("ann", `action${n}`)
  refuse("bob", "action")
  await fixture.clock.advance(600_000)
  await eventually("the rows are pruned", () => pruned.length > 0)
  assert.deepEqual(pruned, ["ann"])
})

test("the audit is never pruned when no number of days is configured", async () => {
  await using fixture = await openFixture(0)
  await fixture.write("old", 1)
  for (let i = 0; i < 3; i += 1) await fixture.clock.advance(4_000 * dayMs)
  assert.equal(await fixture.left(), 1)
})
