import assert from "node:assert/strict"
import { test } from "node:test"
import { Failure, failureStatus } from "#contract"
import { Refusal, refusalOf } from "./refusal.ts"

const errnos = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EACCES", "EPERM", "EROFS", "ENOSPC", "EDQUOT", "EFBIG", "EMLINK", "EBUSY", "EAGAIN"]
const more = ["EEXIST", "ENOTEMPTY", "EISDIR", "EMFILE", "ENFILE", "ENOMEM", "ENAMETOOLONG", "ESTALE"]

test("what the file system refuses is told with the contract's codes and their statuses", () => {
  for (const code of [...errnos, ...more]) {
    const refusal = refusalOf(Object.assign(new Error("x"), { code }))
    assert.ok(refusal, code)
    assert.equal(refusal.status, failureStatus[refusal.code], code)
  }
})

test("a refusal reads like the contract's failure", () => {
  const refusal = new Refusal(404, "not_found", "There is no such file")
  assert.deepEqual(refusal.toBody(), new Failure("not_found", "There is no such file").toBody())
})

test("what is nobody's fault but ours is no refusal", () => {
  for (const error of [new TypeError("x"), Object.assign(new Error("x"), { code: "EIO" }), undefined, "x"])
    assert.equal(refusalOf(error), undefined)
})
