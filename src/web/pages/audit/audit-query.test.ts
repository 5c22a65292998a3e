import assert from "node:assert/strict"
import { test } from "node:test"
import { auditQuery } from "./audit-query.ts"

test("filters of the audit become the query of the API, and local times UTC", () => {
  assert.deepEqual(auditQuery({}), { page: 1, pageSize: 50 })
  const local = "2026-11-22T16:40"
  assert.deepEqual(auditQuery({ person: "ann", action: "run.start", from: local, page: 3 }), {
    page: 3,
    pageSize: 50,
    UserName: "ann",
    Action: "run.start",
    from: new Date(local).toISOString(),
  })
})

test("a mistyped time of an address is no filter", () => {
  assert.deepEqual(auditQuery({ to: "yesterday" }), { page: 1, pageSize: 50 })
})
