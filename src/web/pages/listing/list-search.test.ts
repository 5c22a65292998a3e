import assert from "node:assert/strict"
import { test } from "node:test"
import { listQuery, parseListSearch } from "./list-search.ts"

test("an address keeps known filters and drops everything else", () => {
  assert.deepEqual(parseListSearch({ q: "a b", show: "mine", group: "lab", sort: "name", page: 3, other: 1 }), {
    q: "a b",
    show: "mine",
    group: "lab",
    sort: "name",
    page: 3,
  })
  assert.deepEqual(parseListSearch({ q: { a: 1 }, show: "all", group: "", sort: "-ID", page: -1 }), {})
  assert.deepEqual(parseListSearch({ q: 42, page: 1.5 }), { q: "42" })
  assert.equal(parseListSearch({ q: "x".repeat(1_000) }).q?.length, 200)
})

test("the filters of an address become the API's", () => {
  assert.deepEqual(listQuery({}, "me", "Name"), { page: 1, pageSize: 25 })
  assert.deepEqual(listQuery({ show: "mine", q: " x ", sort: "name", page: 2 }, "me", "ProjectName"), {
    page: 2,
    pageSize: 25,
    q: "x",
    UserName: "me",
    sort: "ProjectName",
  })
  assert.deepEqual(listQuery({ show: "bin", group: "lab", sort: "changed" }, "me", "Name"), {
    page: 1,
    pageSize: 25,
    Deleted: 1,
    GroupName: "lab",
    sort: "-UpdatedAt",
  })
})
