import assert from "node:assert/strict"
import { test } from "node:test"
import type { Identity, Resource } from "#access"
import type { JournalRow, Store } from "#store"
import { createFeedPolicy } from "./feed-policy.ts"

test("many rows about one resource name its grantees once", () => {
  const policy = createFeedPolicy({ store: {} as Store, identity: {} as Identity })
  const grants = [2, 3].map((userId) => ({ access: "read" as const, userId }))
  const image: Resource = { type: "image", id: 7, ownerId: 1, grants }
  const row: JournalRow = { id: 1, at: 0, event: "image.updated", data: { ID: 7 }, resource: { type: "image", id: 7 }, visibility: {} }
  assert.deepEqual([...policy.affectedUsers(Array(500).fill(row), new Map([["image 7", image]]))], [1, 2, 3])
})
