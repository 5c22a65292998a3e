import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { ManualClock, silentLogger } from "#kit"
import { openStore } from "#store"
import { eventually } from "../../test/fixtures/eventually.ts"
import { AuditKeeper } from "./audit-pruner.ts"
import { createEvents } from "./events.ts"

const dayMs = 86_400_000

async function openScene(auditDays: number) {
  await using stack = new AsyncDisposableStack()
  const clock = new ManualClock()
  const directory = await mkdtemp(join(tmpdir(), "quayside-audit-"))
  stack.defer(() => rm(directory, { recursive: true }))
  const store = stack.use(await openStore({ url: `sqlite:${join(directory, "quayside.db")}`, logger: silentLogger, clock }))
  const events = stack.use(createEvents({ store, clock, logger: silentLogger, auditDays }))
  const owned = stack.move()
  return {
    ...{ clock, store, events },
    async write(requestId: string, count: number) {
      const row = { actor: "ann", action: "image.created", resource: null, outcome: "done", address: "", requestId } as const
      await store.change(async (tx) => {
        for (let i = 0; i < count; i += 1) await tx.audit(row)
      })
    },
    left: async () => (await store.audits.list({}, { page: 1, pageSize: 1 })).total,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test("Old rows of the audit are removed in small steps, and the others have the writer in between", async () => {
  await using scene = await openScene(2)
  await scene.write("old", 1_200)
  await scene.clock.advance(dayMs)
  await scene.write("young", 3)
  await scene.clock.advance(dayMs - 600_000)
  assert.equal(await scene.left(), 1_203, "nothing is too old yet")
  await scene.clock.advance(600_000)
  for (const [left, pause] of [
    [703, 50],
    [203, 50],
    [3, 600_000],
  ] as const) {
    await eventually(`${left} rows are left`, async () => (await scene.left()) === left)
    await scene.write("between", 0)
    await scene.clock.advance(pause)
  }
  await scene.clock.advance(600_000)
  assert.equal(await scene.left(), 3, "what is young stays")
})

test("an actor's rows beyond a number are removed, and nobody else's", async () => {
  await using scene = await openScene(0)
  await using keeper = new AuditKeeper({ store: scene.store, days: 400, rows: 20, clock: scene.clock, logger: silentLogger })
  await scene.write("loop", 620)
  await scene.store.change((tx) =>
    tx.audit({ actor: "bob", action: "image.created", resource: null, outcome: "done", address: "", requestId: "one" }),
  )
  for (let n = 0; n < 620; n += 1) keeper.wrote("ann")
  keeper.wrote("bob")
  await scene.clock.advance(600_000)
  await eventually("the first step is done", async () => (await scene.left()) === 121)
  await scene.write("between", 0)
  await scene.clock.advance(50)
  await eventually("the newest are left", async () => (await scene.left()) === 21)
})

test("The audit is kept for ever where no number of days is given", async () => {
  await using scene = await openScene(0)
  await scene.write("old", 1)
  for (let i = 0; i < 3; i += 1) await scene.clock.advance(4_000 * dayMs)
  assert.equal(await scene.left(), 1)
})
