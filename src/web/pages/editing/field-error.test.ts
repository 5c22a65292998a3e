import assert from "node:assert/strict"
import { test } from "node:test"
import { Failure } from "#contract"
import { fieldError } from "./field-error.ts"

const refusal = (message: string) => new Failure("invalid", message, { field: "UserName" })

test("a field shows its refusal without its name in the API", () => {
  assert.deepEqual(fieldError(refusal("UserName must name a person"), "UserName"), { error: "This must name a person." })
  assert.deepEqual(fieldError(refusal("`UserName` must name a person"), "Name", "UserName"), { error: "This must name a person." })
  assert.deepEqual(fieldError(refusal("The name is taken"), "UserName"), { error: "The name is taken." })
})

test("a field shows no refusal of another one", () => {
  assert.deepEqual(fieldError(refusal("UserName must name a person"), "GroupName"), {})
  assert.deepEqual(fieldError(new Failure("invalid", "Nothing fits"), "UserName"), {})
  assert.deepEqual(fieldError(undefined, "UserName"), {})
})
