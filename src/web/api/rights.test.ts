import assert from "node:assert/strict"
import { test } from "node:test"
import type { Grant } from "#contract"
import { rightsOn } from "./rights.ts"

const now = new Date("2026-06-01T00:00:00Z")
const ann = { UserName: "ann", IsAdmin: false, Groups: ["lab"] }
const grant = (fields: Partial<Grant>) => ({ UserName: "", GroupName: "", Access: "use", Until: null, ...fields }) as Grant
const rights = (grants: Grant[], resource: object = {}, person = ann) =>
  rightsOn({ UserName: "bob", isPublished: false, ...resource }, person, grants, now)
const none = { canManage: false, canChange: false, canUse: false }

test("owners and administrators may do everything", () => {
  const all = { canManage: true, canChange: true, canUse: true }
  assert.deepEqual(rights([], { UserName: "ann" }), all)
  assert.deepEqual(rights([], {}, { ...ann, IsAdmin: true }), all)
  assert.deepEqual(rights([]), none)
})

test("publication and the group of a project let people use it", () => {
  assert.deepEqual(rights([], { isPublished: true }), { ...none, canUse: true })
  assert.deepEqual(rights([], { GroupName: "lab" }), { ...none, canUse: true })
  assert.deepEqual(rights([], { GroupName: "other" }), none)
  assert.deepEqual(rights([], { GroupName: "" }, { ...ann, Groups: [] }), none)
})

test("a grant counts for its person or group until it expires", () => {
  assert.deepEqual(rights([grant({ UserName: "ann", Access: "write" })]), { ...none, canChange: true, canUse: true })
  assert.deepEqual(rights([grant({ GroupName: "lab" })]), { ...none, canUse: true })
  assert.deepEqual(rights([grant({ UserName: "ann", Access: "read" })]), none)
  assert.deepEqual(rights([grant({ UserName: "carl" }), grant({ GroupName: "other" })]), none)
  assert.deepEqual(rights([grant({ UserName: "ann", Until: "2026-05-31T00:00:00Z" })]), none)
  assert.deepEqual(rights([grant({ UserName: "ann", Until: "2026-06-02T00:00:00Z" })]), { ...none, canUse: true })
})
