import assert from "node:assert/strict"
import { test } from "node:test"
import { expiryOf, firstExpiryDay } from "./token-expiry.ts"

const now = new Date("2026-11-22T12:00:00Z")

test("a token expires after the chosen days, at the end of a chosen day, or never", () => {
  assert.equal(expiryOf("7", "", now), "2026-11-29T12:00:00.000Z")
  assert.equal(expiryOf("never", "", now), null)
  assert.equal(expiryOf("date", "2026-12-31", now), new Date("2026-12-31T23:59:59").toISOString())
})

test("the first possible date is the next local day", () => {
  assert.equal(firstExpiryDay(new Date(2026, 11, 31, 23, 30)), "2027-01-01")
})
