import assert from "node:assert/strict"
import { test } from "node:test"
import { parseFilesSearch, parseSorting, toSortParam } from "./files-search.ts"

test("an address of a folder keeps known parts and drops everything else", () => {
  assert.deepEqual(parseFilesSearch({ path: "/a b", file: "c", q: "d", sort: "-time", page: 2, other: 1 }), {
    path: "/a b",
    file: "c",
    q: "d",
    sort: "-time",
    page: 2,
  })
  assert.deepEqual(parseFilesSearch({ path: "/", q: { a: 1 }, sort: "name", page: 1e12 }), { path: "/" })
  assert.deepEqual(parseFilesSearch({ path: "/", q: 42, page: 1.5 }), { path: "/", q: "42" })
  assert.equal(parseFilesSearch({ path: "/", q: "x".repeat(1_000) }).q?.length, 200)
  assert.deepEqual(parseFilesSearch({ path: "relative", q: "d" }), {})
})

test("each order comes back from its address", () => {
  for (const by of ["name", "size", "time"] as const)
    for (const isDescending of [false, true]) assert.deepEqual(parseSorting(toSortParam({ by, isDescending })), { by, isDescending })
})
