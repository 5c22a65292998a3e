import assert from "node:assert/strict"
import { test } from "node:test"
import { bounds } from "#contract"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { startFakeApiServer } from "../testing/fake-api-server.ts"
import type { CallTurn } from "./cluster-client.ts"

const { engineStartsOfPerson, engineStopsOfPerson } = bounds.containers

test("the pods of one person's runs are created and deleted a few at a time, and others' meanwhile", async () => {
  for (const [kind, most] of [
    ["create", engineStartsOfPerson.value],
    ["remove", engineStopsOfPerson.value],
  ] as const) {
    await using server = await startFakeApiServer()
    const { client } = server
    const change = (turn: CallTurn) =>
      client.core("delete a pod", (core, settings) => core.deleteNamespacedPod({ namespace: "test", name: "x" }, settings), { turn })
    const own = Array.from({ length: most + 5 }, () => change({ kind, owner: "ann" }))
    await eventually("the first ones are under way", () => server.changing.length >= most)
    const other = change({ kind, owner: "bob" })
    await eventually("another person's is under way", () => server.changing.length > most)
    assert.equal(server.changing.length, most + 1)
    for (let answered = 0; answered < own.length + 1; answered += 1) {
      await eventually("the next one is under way", () => server.changing.length > answered)
      server.changing[answered]?.answer()
    }
    await Promise.all([...own, other])
  }
})
