import assert from "node:assert/strict"
import { test } from "node:test"
import { emptyImage, imageBody, linesOf, newImageBody } from "./image-draft.ts"

test("a new image sends the fields of administrators only when they are set", () => {
  const plain = newImageBody({ ...emptyImage, Name: "a", Image: " repo/a " })
  assert.deepEqual(plain, { Name: "a", Image: "repo/a", Comment: "", Command: "", Env: "", Port: "", Doc: "" })
  const marked = newImageBody({ ...emptyImage, IsTrusted: true, KeepPresent: true, WritablePaths: "/var/run\n\n /srv " })
  assert.deepEqual(marked, { ...plain, Name: "", Image: "", IsTrusted: true, KeepPresent: true, WritablePaths: ["/var/run", "/srv"] })
})

test("a change can empty the writable paths", () => {
  assert.deepEqual(imageBody({ WritablePaths: " \n" }), { WritablePaths: [] })
  assert.deepEqual(imageBody({ Comment: "c" }), { Comment: "c" })
  assert.deepEqual(linesOf("a\r\n b "), ["a", "b"])
})
