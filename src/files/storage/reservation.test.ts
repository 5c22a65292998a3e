import assert from "node:assert/strict"
import { test } from "node:test"
import { pacedDiskCheck } from "./reservation.ts"

test("the disk is checked again after many bytes, and after many files without any", () => {
  let checks = 0
  const check = pacedDiskCheck(() => {
    checks += 1
  })
  const location = { path: "/" }
  check(location, 2 ** 24)
  assert.equal(checks, 1)
  check(location, 2 ** 23)
  assert.equal(checks, 1)
  for (let i = 0; i < 5_000; i += 1) check(location, 0)
  assert.ok(checks >= 10, `${checks} checks`)
})
