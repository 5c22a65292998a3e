import assert from "node:assert/strict"
import { test } from "node:test"
import { beginEditing, changesOf, rebase, resolveConflict } from "./merge.ts"

const base = { name: "a", comment: "c", list: [1] }
const typed = (draft: Partial<typeof base>) => ({ ...beginEditing(base, "1"), draft: { ...base, ...draft } })

test("a save sends the changed fields alone", () => {
  assert.deepEqual(changesOf(beginEditing(base, "1")), {})
  assert.deepEqual(changesOf(typed({ comment: "mine", list: [1] })), { comment: "mine" })
})

test("a field that only somebody else changed takes their value", () => {
  const next = rebase(typed({ comment: "mine" }), { ...base, name: "b" }, "2")
  assert.deepEqual(next.draft, { name: "b", comment: "mine", list: [1] })
  assert.deepEqual([next.theirs, next.taken, next.etag], [{}, ["name"], "2"])
  assert.deepEqual(changesOf(next), { comment: "mine" })
})

test("a field that both changed keeps the person's value and shows both", () => {
  const next = rebase(typed({ comment: "mine" }), { ...base, comment: "theirs" }, "2")
  assert.equal(next.draft.comment, "mine")
  assert.deepEqual(next.theirs, { comment: "theirs" })
})

test("the same change by both is no conflict", () => {
  const next = rebase(typed({ list: [2] }), { ...base, list: [2] }, "2")
  assert.deepEqual([next.theirs, next.taken], [{}, []])
  assert.deepEqual(changesOf(next), {})
})

test("a choice ends a conflict by either value", () => {
  const both = rebase(typed({ comment: "mine" }), { ...base, comment: "theirs" }, "2")
  assert.deepEqual(changesOf(resolveConflict(both, "comment", "mine")), { comment: "mine" })
  assert.deepEqual(changesOf(resolveConflict(both, "comment", "theirs")), {})
  assert.deepEqual(resolveConflict(both, "comment", "theirs").theirs, {})
})

test("a conflict survives a third version that leaves its field alone", () => {
  const both = rebase(typed({ comment: "mine" }), { ...base, comment: "theirs" }, "2")
  const third = rebase(both, { ...base, comment: "theirs", name: "z" }, "3")
  assert.deepEqual([third.theirs, third.draft.comment, third.draft.name], [{ comment: "theirs" }, "mine", "z"])
})

test("a version that the form has already changes nothing", () => {
  const now = typed({ comment: "mine" })
  assert.equal(rebase(now, { ...base, name: "x" }, "1"), now)
})
