import assert from "node:assert/strict"
import { test } from "node:test"
import { groupBody } from "./group-draft.ts"

test("members are one list, however a person separates them", () => {
  assert.deepEqual(groupBody({ Members: "ann, bob\ncarl;ann\n\n" }), { Members: ["ann", "bob", "carl"] })
  assert.deepEqual(groupBody({ Members: " " }), { Members: [] })
  assert.deepEqual(groupBody({ Comment: "c" }), { Comment: "c" })
})
