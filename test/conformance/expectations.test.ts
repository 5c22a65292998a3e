import assert from "node:assert/strict"
import { test } from "node:test"
import { operations } from "#contract"
import { expectations } from "../access/expectations.ts"

test("every operation of the contract says in test/access/expectations.ts who may do it, and nothing else stands there", () => {
  assert.deepEqual(Object.keys(expectations).sort(), [...operations].sort())
})
