import assert from "node:assert/strict"
import { test } from "node:test"
import { heldSentences, isTest, testNames } from "./held.ts"

test("the table of conformance has a row for every sentence of the interface documents", () => {
  assert.ok(heldSentences().length > 250)
})

test("every test that the table of conformance names exists", () => {
  const names = testNames()
  const missing = new Set(heldSentences().flatMap(({ tests }) => tests.filter((name) => isTest(name) && !names.has(name))))
  assert.deepEqual([...missing], [])
})

test("no sentence is without a test, but for those that lead on and those of later steps", () => {
  const empty = heldSentences().filter(({ tests }) => tests.length === 0)
  assert.deepEqual(empty, [])
})
