import assert from "node:assert/strict"
import { test } from "node:test"
import { safeDisplayName } from "../../components/display-name.ts"
import { breadcrumbs, filterEntries, nameError, sortEntries } from "./entries.ts"

const entry = (Name: string, Size?: number, ModifiedAt = "2026-01-01T00:00:00.000Z") =>
  Size === undefined ? { Name, IsDirectory: true, ModifiedAt } : { Name, IsDirectory: false, Size, ModifiedAt }
const names = (entries: readonly { Name: string }[]) => entries.map(({ Name }) => Name).join()

test("directories come first, numbers in names count as numbers, and ties go by name", () => {
  const entries = [entry("f10", 1), entry("f9", 5), entry("z"), entry("f1", 5), entry("a")]
  assert.equal(names(sortEntries(entries, { by: "name", isDescending: false })), "a,z,f1,f9,f10")
  assert.equal(names(sortEntries(entries, { by: "name", isDescending: true })), "z,a,f10,f9,f1")
  assert.equal(names(sortEntries(entries, { by: "size", isDescending: true })), "a,z,f1,f9,f10")
  const times = [entry("old", 1, "2025-01-01T00:00:00.000Z"), entry("new", 1)]
  assert.equal(names(sortEntries(times, { by: "time", isDescending: true })), "new,old")
})

test("thousands of names that take long to compare are sorted by their codes", () => {
  const few = [entry("f10", 1), entry("f9", 5), entry("z")]
  const many = [...Array.from({ length: 200 }, (_, i) => entry(`n${i}`, 1)), ...few]
  let comparisons = 0
  const slowly = () => {
    comparisons += 1
    return comparisons * 2_000
  }
  const sorted = names(sortEntries(many, { by: "name", isDescending: false }, slowly))
  assert.ok(sorted.startsWith("z,f10,f9,n0,n1,n10,n100,"), sorted.slice(0, 60))
  assert.ok(comparisons <= 3, `${comparisons} looks at the clock`)
  assert.ok(names(sortEntries(many, { by: "name", isDescending: false }, () => 0)).startsWith("z,f9,f10,n0,n1,n2,"))
})

test("a filter finds names in any case", () => {
  assert.equal(names(filterEntries([entry("Über"), entry("x")], "üb")), "Über")
  assert.equal(filterEntries([entry("a"), entry("b")], " ").length, 2)
})

test("a name is shown without characters that reverse text", () => {
  assert.equal(safeDisplayName("photo_\u202egpj.exe"), "photo_\ufffdgpj.exe")
  assert.equal(safeDisplayName("a\u200fb\u061c"), "a\ufffdb\ufffd")
  assert.equal(safeDisplayName("שלום.txt"), "שלום.txt")
})

test("a name that the server would refuse is refused in the form", () => {
  assert.deepEqual(["", "a/b", "..", ".quayside-upload-x", "ü".repeat(128), "a b.txt"].map(nameError), [
    ...["empty", "slash", "reserved", "reserved", "long", undefined],
  ])
})

test("a path becomes breadcrumbs, one for each directory", () => {
  assert.deepEqual(breadcrumbs("/users/ann"), [
    { name: "users", path: "/users" },
    { name: "ann", path: "/users/ann" },
  ])
  assert.deepEqual(breadcrumbs("/"), [])
})
