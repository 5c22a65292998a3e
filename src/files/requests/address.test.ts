import assert from "node:assert/strict"
import { test } from "node:test"
import { bounds, Failure } from "#contract"
import { hrefOf, joinPath, parseFileAddress } from "./address.ts"

const names = (target: string) => parseFileAddress(target).names
const status = (target: string) => {
  try {
    parseFileAddress(target)
    return 200
  } catch (error) {
    return error instanceof Failure ? error.status : 500
  }
}

test("a target is split into decoded names, and repeated slashes count once", () => {
  assert.deepEqual(parseFileAddress("/"), { names: [], hasTrailingSlash: true })
  assert.deepEqual(parseFileAddress("/users//ann/a%20b/"), { names: ["users", "ann", "a b"], hasTrailingSlash: true })
  assert.deepEqual(parseFileAddress("/%C3%BC%23%3F%25"), { names: ["ü#?%"], hasTrailingSlash: false })
  assert.deepEqual(names("http://files.example.com:8082/x/y"), ["x", "y"])
  assert.deepEqual(names("http://files.example.com"), [])
})

test("unescaped bytes in a target are UTF-8", () => {
  assert.deepEqual(names(Buffer.from("/ü").toString("latin1")), ["ü"])
  assert.equal(status("/\xff"), 400)
})

test("bytes that cannot be a name are refused as invalid", () => {
  for (const target of ["/%", "/%zz", "/%ff", "/%c3%28", "/%ed%a0%80", "/a%00b", "/a#b", "/a?b", "*", "a/b", ""])
    assert.equal(status(target), 400, target)
})

test("a path has a bounded number of names", () => {
  const { value } = bounds.files.pathNames
  assert.equal(status("/a".repeat(value)), 200)
  assert.equal(status("/a".repeat(value + 1)), 414)
})

test("names that lead elsewhere, or that Quayside reserves, return 404", () => {
  const targets = [
    "/..",
    "/a/../b",
    "/a/./b",
    "/%2e%2e/x",
    "/.%2E",
    "/a%2fb",
    "/a%2F..%2Fb",
    "/.quayside",
    "/.quayside/work",
    "/a/.quayside-upload-1",
  ]
  for (const target of targets) assert.equal(status(target), 404, target)
  assert.equal(status("/a/.quayside"), 200)
})

test("an encoded path reads back as the same names", () => {
  const odd = ["a b", "ü#?%", "!'()*", "🙂", 'a&<>"', "~._-"]
  assert.deepEqual(names(hrefOf({ path: joinPath(odd), isDirectory: false })), odd)
  assert.match(hrefOf({ path: joinPath(odd), isDirectory: true }), /^[\x21-\x7e]+\/$/)
  assert.equal(hrefOf({ path: "/", isDirectory: true }), "/")
})
