import assert from "node:assert/strict"
import { test } from "node:test"
import { operationIds } from "#contract"
import { expectations, operationOf } from "../access/expectations.ts"

test("test/access/expectations.ts lists the rights for every operation of the contract, and nothing else", () => {
  assert.deepEqual([...new Set(Object.keys(expectations).map(operationOf))].sort(), [...operationIds].sort())
  for (const operation of operationIds) assert.ok(expectations[operation], `${operation} needs a line of its own name`)
})
