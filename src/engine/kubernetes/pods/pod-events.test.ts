import assert from "node:assert/strict"
import { suite, test } from "node:test"
import type { CoreV1Event, V1Pod } from "@kubernetes/client-node"
import { ManualClock } from "#kit"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { startFakeApiServer } from "../testing/fake-api-server.ts"
import { PodEventFeed } from "./pod-events.ts"

const never = new AbortController().signal
const events = "/api/v1/namespaces/test/events"

const podOf = (uid: string): V1Pod => ({ metadata: { uid } })
let count = 0
const eventOf = (uid: string, reason: string): CoreV1Event => ({
  metadata: { name: `event-${++count}`, namespace: "test" },
  involvedObject: { uid },
  reason,
  source: { host: "node-1" },
})

suite("the events of starts", () => {
  test("one watch serves all starts, and each start sees its own pods' events", async () => {
    await using server = await startFakeApiServer()
    await using feed = new PodEventFeed(server.client)
    using one = await feed.follow([podOf("one")], never)
    using two = await feed.follow([podOf("two-0"), podOf("two-1")], never)
    const heard: string[] = []
    one.onChange(() => heard.push("one"))
    two.onChange(() => heard.push("two"))
    server.set(eventOf("one", "Pulling"))
    server.set(eventOf("other", "Pulling"))
    for (const reason of ["Scheduled", "Pulled", "Created"]) server.set(eventOf("two-0", reason))
    await eventually("all events have arrived", () => heard.length === 4)
    assert.deepEqual(heard, ["one", "two", "two", "two"])
    assert.deepEqual(one.step, { state: "pulling", text: "The image is fetched on node-1" })
    assert.deepEqual(two.step, { state: "pulling", text: undefined }, "that of the pod that is furthest behind")
    server.set(eventOf("two-1", "Pulled"))
    await eventually("the other pod has moved", () => two.step.state === "creating")
    assert.deepEqual(server.asked, [`first ${events}`, `watch ${events}`])
  })

  test("events from before the start are not read", async () => {
    await using server = await startFakeApiServer()
    server.set(eventOf("one", "Pulling"))
    await using feed = new PodEventFeed(server.client)
    using one = await feed.follow([podOf("one")], never)
    const heard = Promise.withResolvers<void>()
    one.onChange(heard.resolve)
    server.set(eventOf("one", "Scheduled"))
    await heard.promise
    assert.deepEqual(one.step, { state: "pulling", text: "The node prepares the run on node-1" })
  })

  test("the watch outlives the last start for a while, serves the next one, and ends", async () => {
    await using server = await startFakeApiServer()
    const clock = new ManualClock()
    await using feed = new PodEventFeed(server.client, clock)
    const first = await feed.follow([podOf("one")], never)
    assert.equal(server.watches, 1)
    first[Symbol.dispose]()
    await clock.advance(29_000)
    const second = await feed.follow([podOf("two")], never)
    await clock.advance(60_000)
    server.set(eventOf("two", "Scheduled"))
    await eventually("its event has arrived", () => second.step.text !== undefined)
    assert.deepEqual([server.watches, server.asked.length], [1, 2])
    second[Symbol.dispose]()
    await clock.advance(30_000)
    await eventually("the watch has ended", () => server.watches === 0)
    using _ = await feed.follow([podOf("three")], never)
    assert.deepEqual([server.watches, server.asked.length], [1, 4])
  })

  test("without events a start waits for a second, and knows no progress", async () => {
    await using server = await startFakeApiServer()
    server.fall()
    const clock = new ManualClock()
    await using feed = new PodEventFeed(server.client, clock)
    const following = feed.follow([podOf("one")], never)
    await eventually("the events were asked for", () => server.asked.length > 0)
    await clock.advance(1_000)
    using one = await following
    assert.deepEqual(one.step, { state: "pulling", text: undefined })
  })
})
