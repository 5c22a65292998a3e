import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import { openStore } from "#store"
import { JournalPruner, type JournalPrunerOptions } from "./journal-pruner.ts"

async function openJournal() {
  const directory = await mkdtemp(join(tmpdir(), "quayside-journal-"))
  const store = await openStore({ url: `sqlite:${join(directory, "quayside.db")}`, logger: silentLogger, clock: systemClock })
  const entry = { event: "run.state", resource: { type: "run", id: 1 }, data: { ID: 1, text: "x".repeat(1_000) } } as const
  return {
    store,
    rowBytes: Buffer.byteLength(JSON.stringify(entry.data)),
    async add(count: number): Promise<void> {
      for (let n = 0; n < count; n += 1) await store.change((tx) => tx.journal(entry))
    },
    pruner: (options: Partial<JournalPrunerOptions>) => new JournalPruner({ store, logger: silentLogger, batchSize: 2, ...options }),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

test("the journal is pruned to its number of rows", async () => {
  await using journal = await openJournal()
  await journal.add(20)
  await journal.pruner({}).prune()
  assert.deepEqual(await journal.store.events.bounds(), { first: 1, last: 20 })
  await journal.pruner({ maxRows: 15 }).prune()
  assert.deepEqual(await journal.store.events.bounds(), { first: 6, last: 20 })
})

test("the journal is pruned to its bytes in whole batches, also of rows of earlier and other processes", async () => {
  await using journal = await openJournal()
  await journal.add(20)
  const [one, another] = [1, 2].map(() => journal.pruner({ maxBytes: 10 * journal.rowBytes })) as [JournalPruner, JournalPruner]
  await one.prune()
  assert.deepEqual(await journal.store.events.bounds(), { first: 11, last: 20 })
  await another.prune()
  assert.deepEqual(await journal.store.events.bounds(), { first: 11, last: 20 }, "they fit exactly")
  await journal.add(3)
  await another.prune()
  assert.deepEqual(await journal.store.events.bounds(), { first: 15, last: 23 })
  await journal.add(1)
  await one.prune()
  assert.deepEqual(await journal.store.events.bounds(), { first: 15, last: 24 })
})

test("the newest row remains, however long it is", async () => {
  await using journal = await openJournal()
  await journal.add(5)
  await journal.pruner({ maxBytes: 1 }).prune()
  assert.deepEqual(await journal.store.events.bounds(), { first: 5, last: 5 })
})
