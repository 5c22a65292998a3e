import assert from "node:assert/strict"
import { test } from "node:test"
import { hostName } from "./guard.ts"

test("a host's name is read without port and brackets, or not at all", () => {
  assert.equal(hostName("Files.Example.com:8082"), "files.example.com")
  assert.equal(hostName("[::1]:80"), "::1")
  for (const bad of ["", "a@b", "a:b:c", "[::1", "a]"]) assert.equal(hostName(bad), "")
})
