import assert from "node:assert/strict"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import { type JournalRow, openStore } from "#store"
import { openEvents, serviceActor } from "./events.ts"
import { EventFeed } from "./feed.ts"
import type { EventSink } from "./stream-writer.ts"

/** A reader who takes what comes, or nothing. */
class FakeSink implements EventSink {
  text = ""
  isEnded = false
  takes = true
  #untaken = 0
  readonly #isGone = Promise.withResolvers<void>()
  #gone: () => void = () => {}
  #changed = Promise.withResolvers<void>()

  get pendingBytes(): number {
    return this.#untaken
  }
  write(bytes: Uint8Array | string): void {
    this.text += typeof bytes === "string" ? bytes : Buffer.from(bytes).toString()
    if (!this.takes) this.#untaken += bytes.length
    this.#notify()
  }
  async drained(latest: AbortSignal): Promise<void> {
    if (this.takes) return
    await Promise.race([once(latest, "abort"), this.#isGone.promise])
  }
  end(text: string): void {
    this.text += text
    this.isEnded = true
    this.#notify()
    this.#isGone.resolve()
    this.#gone()
  }
  onClose(listener: () => void): void {
    this.#gone = listener
  }
  get received(): string[] {
    return [...this.text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(([, event, data]) =>
      `${event} ${JSON.parse(data ?? "").ID ?? ""}`.trim(),
    )
  }
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.#changed.promise
  }
  #notify(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }
}

/** The policy's methods that read a row. */
type Reading = "invalidate" | "visibilityOf" | "affectedUsers"

/**
 * A feed of which everybody sees everything; `looks` counts how often resources were looked at. The
 * method `fails` throws for image 13.
 */
async function openFixture(fails?: Reading) {
  const read = (method: Reading, rows: readonly JournalRow[]) => {
    if (method === fails && rows.some(({ resource }) => resource.id === 13)) throw new Error("a row that nobody understands")
  }
  const directory = await mkdtemp(join(tmpdir(), "quayside-feed-"))
  const store = await openStore({ url: `sqlite:${join(directory, "quayside.db")}`, logger: silentLogger, clock: systemClock })
  const events = openEvents({ store, logger: silentLogger })
  const counts = { looks: 0 }
  const feed = new EventFeed({
    ...{ store, clock: systemClock, logger: silentLogger },
    onJournalWrite: (listener) => events.onJournalWrite(listener),
    policy: {
      loadSubscriber: async (userId: number) => ({ userId }),
      onInvalidate: () => ({ [Symbol.dispose]() {} }),
      invalidate: (rows) => read("invalidate", rows),
      loadResources: async () => {
        counts.looks += 1
      },
      visibilityOf: (_, row) => {
        read("visibilityOf", [row])
        return "to" in row.visibility ? "none" : "whole"
      },
      audienceOf: () => "",
      affectedUsers: (rows) => {
        read("affectedUsers", rows)
        return []
      },
    },
  })
  feed.start()
  return {
    ...{ store, feed, counts, path: join(directory, "quayside.db") },
    happens: (id: number) => store.change((tx) => events.changed(tx, serviceActor, { verb: "updated", resource: { type: "image", id } })),
    async read(userId: number, after?: number, takes = true): Promise<FakeSink> {
      const taker = new FakeSink()
      taker.takes = takes
      const begin = await feed.open({ subscriber: { userId }, credentialId: "p", after })
      begin(taker)
      return taker
    },
    async [Symbol.asyncDispose]() {
      await feed[Symbol.asyncDispose]()
      await events[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

test("a gap that is too old to replay sends `reset`, whose id is where the stream continues", async () => {
  await using fixture = await openFixture()
  for (let id = 1; id <= 5; id += 1) await fixture.happens(id)
  const { last } = await fixture.store.events.bounds()
  await fixture.store.change((tx) => tx.pruneJournal(3))
  const late = await fixture.read(1, 2)
  const inTime = await fixture.read(2, 3)
  await fixture.happens(6)
  await late.until(() => late.received.includes("image.updated 6"))
  await inTime.until(() => inTime.received.includes("image.updated 6"))
  assert.deepEqual(late.received, ["reset", "image.updated 6"])
  assert.match(late.text, new RegExp(`id: ${last}\nevent: reset`))
  assert.deepEqual(inTime.received, ["image.updated 4", "image.updated 5", "image.updated 6"])
})

test("a reader that accepts nothing is evicted with `reset` at 64 KiB of pending bytes, and others get every event", async () => {
  await using fixture = await openFixture()
  const slow = await fixture.read(1)
  const quick = await fixture.read(2)
  slow.takes = false
  const many = 4_000
  await Promise.all(Array.from({ length: many }, (_, i) => fixture.happens(i + 1)))
  await quick.until(() => quick.text.includes(`"ID":${many}}`))
  await slow.until(() => slow.isEnded)
  assert.equal(slow.received.at(-1), "reset")
  assert.ok(slow.pendingBytes < 3 * 64 * 1024, `bounded: ${slow.pendingBytes}`)
  assert.equal(quick.received.length, many)
  assert.equal(fixture.feed.streamCount, 1)
})

for (const fails of ["invalidate", "visibilityOf", "affectedUsers"] as const) {
  test(`a row that ${fails} cannot read stops no other events`, async () => {
    await using fixture = await openFixture(fails)
    await fixture.happens(1)
    const [live, other] = [await fixture.read(1), await fixture.read(2)]
    await Promise.all([12, 13, 14].map((id) => fixture.happens(id)))
    const late = await fixture.read(3, 0)
    for (const reader of [live, other, late]) await reader.until(() => reader.received.includes("image.updated 14"))
    const expected = [12, ...(fails === "invalidate" ? [13] : []), 14].map((id) => `image.updated ${id}`)
    assert.deepEqual(live.received, expected)
    assert.deepEqual(other.received, expected)
    assert.deepEqual(late.received, ["image.updated 1", ...expected])
  })
}

test("a row that the store cannot read is for nobody, and stops no other events", async () => {
  await using fixture = await openFixture()
  await fixture.happens(1)
  const live = await fixture.read(1)
  const database = new DatabaseSync(fixture.path)
  database.exec("insert into journal (at, event, thing_type, thing_id, data) values (1, 'image.updated', 'image', 13, '{')")
  database.close()
  await fixture.happens(14)
  const late = await fixture.read(2, 0)
  for (const reader of [live, late]) await reader.until(() => reader.received.includes("image.updated 14"))
  assert.deepEqual(live.received, ["image.updated 14"])
  assert.deepEqual(late.received, ["image.updated 1", "image.updated 14"])
})

test("a reader that catches up and accepts nothing delays no other reader", async () => {
  await using fixture = await openFixture()
  for (let id = 1; id <= 5; id += 1) await fixture.happens(id)
  const slow = await Promise.all(Array.from({ length: 40 }, (_, i) => fixture.read(i % 4, 0, false)))
  const quick = await fixture.read(10, 0)
  await quick.until(() => quick.received.length === 5)
  for (const each of slow) each.end("")
})

test("a reader that accepts nothing of a replay for 30 s is evicted with `reset`", async (t) => {
  await using fixture = await openFixture()
  await fixture.happens(1)
  t.mock.timers.enable({ apis: ["setTimeout"] })
  const slow = await fixture.read(1, 0, false)
  await slow.until(() => slow.received.length === 1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(!slow.isEnded)
  t.mock.timers.tick(30_000)
  await slow.until(() => slow.isEnded)
  assert.deepEqual(slow.received, ["image.updated 1", "reset"])
  t.mock.timers.reset()
})

test("resources are loaded once for all readers", async () => {
  await using fixture = await openFixture()
  const readers = await Promise.all(Array.from({ length: 100 }, (_, i) => fixture.read(i + 1)))
  await fixture.happens(1)
  for (const reader of readers) await reader.until(() => reader.received.length === 1)
  assert.equal(fixture.counts.looks, 1)
})

test("a reader that reconnects between changes gets each change exactly once", async () => {
  await using fixture = await openFixture()
  const writing = (async () => {
    for (let id = 1; id <= 300; id += 1) await fixture.happens(id)
  })()
  const received: string[] = []
  let after = 0
  while (received.length < 300) {
    const reader = await fixture.read(1, after)
    await reader.until(() => reader.received.length > 0)
    received.push(...reader.received)
    after = Number([...reader.text.matchAll(/^id: (\d+)\nevent/gm)].at(-1)?.[1])
    reader.end("")
  }
  await writing
  assert.deepEqual(
    received,
    Array.from({ length: 300 }, (_, i) => `image.updated ${i + 1}`),
  )
})

test("a reader that connects during a batch gets only the changes after its connection", async () => {
  await using fixture = await openFixture()
  const first = await fixture.read(1)
  await fixture.happens(1)
  await first.until(() => first.received.length === 1)
  await fixture.happens(2)
  const second = await fixture.read(2)
  await fixture.happens(3)
  await second.until(() => second.received.includes("image.updated 3"))
  await first.until(() => first.received.length === 3)
  assert.deepEqual(second.received, ["image.updated 3"])
})

test("streams end at once when the service stops, and new ones are rejected", async () => {
  await using fixture = await openFixture()
  const reader = await fixture.read(1)
  await fixture.feed[Symbol.asyncDispose]()
  assert.ok(reader.isEnded)
  await assert.rejects(fixture.read(1), { status: 503 })
})
