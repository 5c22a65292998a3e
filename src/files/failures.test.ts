import assert from "node:assert/strict"
import { test } from "node:test"
import { type FailureCode, failureStatus } from "#contract"
import { fileFailure } from "./failures.ts"

const errnos = ["ENOENT", "ENOTDIR", "ELOOP", "ENXIO", "EACCES", "EPERM", "EROFS", "ENOSPC", "EFBIG", "EMLINK", "EBUSY", "EAGAIN"]
const more = ["EEXIST", "ENOTEMPTY", "EISDIR", "EMFILE", "ENFILE", "ENOMEM", "ENAMETOOLONG", "ESTALE"]

test("file system errors map to the contract's codes and statuses", () => {
  for (const code of [...errnos, ...more]) {
    const refusal = fileFailure(Object.assign(new Error("x"), { code }))
    assert.ok(refusal, code)
    assert.equal(refusal.status, failureStatus[refusal.code as FailureCode], code)
  }
})

test("a full quota, for which Node has no name, maps to storage_full", () => {
  assert.equal(fileFailure(Object.assign(new Error("x"), { code: "Unknown system error -122", errno: -122 }))?.code, "storage_full")
})

test("an error of the server is no refusal", () => {
  for (const error of [new TypeError("x"), Object.assign(new Error("x"), { code: "EIO" }), undefined, "x"])
    assert.equal(fileFailure(error), undefined)
})
