import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { RunsFixture } from "../testing/runs-fixture.ts"

test("an engine that reports changes all the time is observed for a tenth of the time", async () => {
  const clock = new ManualClock()
  await using fixture = await RunsFixture.open({ clock })
  const engine = await fixture.engine()
  const observe = engine.observe.bind(engine)
  let change = () => {}
  let count = 0
  engine.watch = async (onChange, signal) => {
    change = onChange
    await clock.sleep(3_600_000, signal).catch(() => {})
  }
  engine.observe = async (signal) => {
    count += 1
    await clock.sleep(20, signal)
    change()
    return observe(signal)
  }
  await using _runs = await fixture.runs({ engine })
  for (let ms = 0; ms < 10_000; ms += 10) await clock.advance(10)
  assert.ok(count >= 20 && count <= 51, String(count))
})
