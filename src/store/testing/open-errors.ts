import assert from "node:assert/strict"
import { StoreError, type StoreErrorKind } from "../errors.ts"
import type { TestDatabase } from "./databases.ts"

export function assertOpenFails(database: Pick<TestDatabase, "open">, kind: StoreErrorKind, message: RegExp): Promise<void> {
  return assert.rejects(database.open(), (error) => {
    assert.ok(error instanceof StoreError, String(error))
    assert.equal(error.kind, kind)
    assert.match(error.message, message)
    return true
  })
}
