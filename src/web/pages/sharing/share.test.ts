import assert from "node:assert/strict"
import { test } from "node:test"
import { toDateInput } from "../../api/formats.ts"
import { accessesOf, endOfDay, kindOf } from "./share.ts"

test("a share until a day lasts to the end of that day", () => {
  const end = new Date(endOfDay("2026-12-31") ?? "")
  assert.equal(end.getTime(), new Date(2027, 0, 1).getTime())
  assert.equal(toDateInput(new Date(end.getTime() - 1)), "2026-12-31")
  assert.equal(endOfDay(""), undefined)
  assert.equal(endOfDay("tomorrow"), undefined)
})

test("datasets have no right between reading and writing", () => {
  assert.deepEqual(accessesOf(kindOf({ DataID: 1 })), ["read", "write"])
  assert.deepEqual(accessesOf(kindOf({ ImageID: 1 })), ["read", "use", "write"])
  assert.equal(kindOf({ ProjectID: 1 }), "project")
})
