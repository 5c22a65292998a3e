import assert from "node:assert/strict"
import { test } from "node:test"
import { bounds } from "#contract"
import { ControlUsageByPerson } from "./control-usage.ts"

test("a person who reconnects has no further explanations of refused connections", (t) => {
  let now = 0
  t.mock.method(performance, "now", () => now)
  const usages = new ControlUsageByPerson()
  const explain = () => {
    using _connection = usages.of(1).addConnection()
    return usages.of(1).consumeExplanation()
  }
  for (let i = 0; i < bounds.control.explanations.value; i += 1) assert.ok(explain())
  assert.ok(!explain())
  assert.ok(usages.of(2).consumeExplanation())
  now += 60_000
  assert.ok(explain())
})
