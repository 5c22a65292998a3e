import assert from "node:assert/strict"
import { suite, test } from "node:test"
import type { V1Pod } from "@kubernetes/client-node"
import { ManualClock } from "#kit"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import type { EngineError } from "../../engine.ts"
import { type FakeApiServer, startFakeApiServer } from "../testing/fake-api-server.ts"
import { type PageRequest, Reflector } from "./reflector.ts"

const never = new AbortController().signal
const path = "/api/v1/namespaces/test/pods"

const pod = (name: string, run: string, phase = "Pending"): V1Pod => ({ metadata: { name, labels: { run } }, status: { phase } })
const namesIn = (pods: readonly V1Pod[]) => pods.map(({ metadata }) => metadata?.name).sort()

function reflectorOf({ client }: FakeApiServer, clock?: ManualClock): Reflector<V1Pod> {
  const list = (page: PageRequest, signal: AbortSignal) =>
    client.core("list pods", (core, settings) => core.listNamespacedPod({ namespace: "test", ...page }, settings), { signal })
  const groupOf = ({ metadata }: V1Pod) => metadata?.labels?.run
  return new Reflector<V1Pod>({ client, path, list, groupOf, isSelected: ({ status }) => status?.phase === "Pending", clock })
}

suite("a copy of a collection", () => {
  test("it holds what a list began and a watch keeps current, all of it and by groups", async () => {
    await using server = await startFakeApiServer()
    server.set(pod("a-0", "a"))
    server.set(pod("a-1", "a"))
    await using pods = reflectorOf(server)
    assert.deepEqual([...(await pods.items()).keys()], ["a-0", "a-1"])
    server.set(pod("b-0", "b"))
    server.remove("a-0")
    server.set(pod("a-1", "b"))
    await eventually("the last change has arrived", () => pods.group("b").length === 2)
    assert.deepEqual([namesIn(pods.group("a")), namesIn(pods.group("b"))], [[], ["a-1", "b-0"]])
    assert.deepEqual(namesIn([...pods.known.values()]), ["a-1", "b-0"])
    assert.deepEqual(server.asked, [`list ${path}`, `watch ${path}`])
  })

  test("selected items are those that the option wants in their present state", async () => {
    await using server = await startFakeApiServer()
    for (const [name, phase] of Object.entries({ a: "Pending", b: "Pending", c: "Running" })) server.set(pod(name, name, phase))
    await using pods = reflectorOf(server)
    await pods.items()
    assert.deepEqual(namesIn([...pods.selected]), ["a", "b"])
    server.set(pod("a", "a", "Running"))
    server.set(pod("c", "c", "Pending"))
    server.remove("b")
    server.set(pod("d", "d"))
    await eventually("the last change has arrived", () => pods.group("d").length === 1)
    assert.deepEqual(namesIn([...pods.selected]), ["c", "d"])
    pods.forgetGroup("d")
    assert.deepEqual(namesIn([...pods.selected]), ["c"])
  })

  test("a listener of a group hears of that group's changes alone, and both groups of an object that moves", async () => {
    await using server = await startFakeApiServer()
    await using pods = reflectorOf(server)
    await pods.items()
    const heard: string[] = []
    const stops = ["a", "b", "c"].map((name) => pods.onGroupChange(name, () => heard.push(name)))
    server.set(pod("0", "a"))
    server.set(pod("0", "b"))
    server.remove("0")
    await eventually("all changes have arrived", () => heard.length === 4)
    assert.deepEqual(heard, ["a", "a", "b", "b"])
    for (const stop of stops) stop()
    server.set(pod("0", "a"))
    await eventually("it is known", () => pods.group("a").length === 1)
    assert.equal(heard.length, 4)
  })

  test("after a lost connection the watch goes on where it ended, without another list", async () => {
    await using server = await startFakeApiServer()
    server.set(pod("a-0", "a"))
    await using pods = reflectorOf(server)
    await pods.items()
    server.cut()
    server.remove("a-0")
    server.set(pod("a-1", "a"))
    await eventually("what changed meanwhile is known", () => namesIn(pods.group("a")).join() === "a-1")
    assert.deepEqual(server.asked, [`list ${path}`, `watch ${path}`, `watch ${path}`])
  })

  for (const how of ["while it watches", "while it is cut off"])
    test(`if the server forgets its point ${how}, it lists again and drops what was deleted meanwhile`, async () => {
      await using server = await startFakeApiServer()
      server.set(pod("a-0", "a"))
      await using pods = reflectorOf(server)
      await pods.items()
      const all = pods.until("a", (group) => namesIn(group).join() === "a-1" || undefined, never)
      if (how === "while it is cut off") server.fall()
      server.set(pod("a-1", "a"))
      server.remove("a-0")
      server.forget(how === "while it is cut off" ? "status" : "event")
      server.recover()
      assert.equal(await all, true)
      await eventually("it listed again", () => server.asked.filter((each) => each === `list ${path}`).length === 2)
      assert.deepEqual(namesIn([...(await pods.items()).values()]), ["a-1"])
    })

  test("if the server's database was restored from an older copy, it lists again and sees what happens from then on", async () => {
    await using server = await startFakeApiServer()
    server.set(pod("a-0", "a"))
    server.save()
    server.set(pod("a-1", "a"))
    server.remove("a-0")
    await using pods = reflectorOf(server)
    assert.deepEqual([...(await pods.items()).keys()], ["a-1"])
    server.fall()
    await eventually("it was tried again", () => server.asked.length > 2)
    server.restore()
    for (let n = 0; n < 10; n += 1) server.set(pod("b-0", "b"))
    server.recover()
    await eventually("the copy is what the server has", () => namesIn(pods.group("a")).join() === "a-0")
    server.set(pod("a-2", "a"))
    await eventually("the new one is known", () => namesIn(pods.group("a")).join() === "a-0,a-2")
  })

  test("a state is waited for in one group, and not read from a copy that is out of date", async () => {
    await using server = await startFakeApiServer()
    server.set(pod("a-0", "a"))
    await using pods = reflectorOf(server)
    await pods.items()
    let asked = 0
    const running = pods.until(
      "a",
      (group) => {
        asked += 1
        return group.some(({ status }) => status?.phase === "Running") || undefined
      },
      never,
    )
    for (let n = 0; n < 20; n += 1) server.set(pod(`b-${n}`, "b"))
    server.fall()
    await eventually("the connection is lost", () =>
      pods.items(AbortSignal.timeout(1)).then(
        () => false,
        () => true,
      ),
    )
    const before = asked
    server.set(pod("a-0", "a", "Running"))
    server.recover()
    assert.equal(await running, true)
    assert.ok(before === 1 && asked <= 3, `asked ${before} times before the loss, ${asked} in all`)
  })

  test("without the right to see the objects it rejects at once, until another fault comes or the right is given", async () => {
    await using server = await startFakeApiServer()
    server.set(pod("a-0", "a"))
    server.forbid()
    // Its time stands still, so nobody waits for a deadline or another attempt.
    const clock = new ManualClock()
    await using pods = reflectorOf(server, clock)
    for (const _ of [1, 2]) await assert.rejects(pods.items(), { code: "engine_unreachable", detail: "pods is forbidden" })
    /** The names after a while, or else why there are none. */
    const later = async () => {
      const asked = pods.items().then(
        (items) => [...items.keys()].join(),
        ({ detail }: EngineError) => detail,
      )
      await clock.advance(5_000)
      return asked
    }
    server.fall()
    await eventually("the other fault is told", async () => (await later()) !== "pods is forbidden")
    server.recover()
    await eventually("it serves them", async () => (await later()) === "a-0")
  })

  test("a server that knows the rights only some time after its start is waited for", async () => {
    await using server = await startFakeApiServer()
    server.set(pod("a-0", "a"))
    await using pods = reflectorOf(server)
    await pods.items()
    const before = server.asked.length
    server.forbid()
    server.cut()
    await eventually("it was refused", () => server.asked.length > before + 1)
    const items = pods.items()
    server.recover()
    assert.deepEqual([...(await items).keys()], ["a-0"])
  })

  test("without a server it rejects with engine_unreachable after some seconds", async () => {
    await using server = await startFakeApiServer()
    server.fall()
    const clock = new ManualClock()
    await using pods = reflectorOf(server, clock)
    const items = pods.items()
    await eventually("it was asked for", () => server.asked.length > 0)
    await Promise.all([assert.rejects(items, { code: "engine_unreachable" }), clock.advance(5_000)])
  })
})
