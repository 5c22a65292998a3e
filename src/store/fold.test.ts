import assert from "node:assert/strict"
import { test } from "node:test"
import { fold, indexKey, searchText } from "./fold.ts"

test("texts that differ only in case, width or ligatures are folded to one text", () => {
  for (const [a, b] of [
    ["Straße", "STRASSE"],
    ["STRAẞE", "straße"],
    ["ﬁne", "FINE"],
    ["Ａ１", "a1"],
    ["ΣΑΣ", "σας"],
    ["É", "e\u0301"],
    ["Ⅷ", "viii"],
  ] as const) {
    assert.equal(fold(a), fold(b), `${a} ${b}`)
    assert.equal(fold(fold(a)), fold(a), a)
  }
  assert.notEqual(fold("a"), fold("á"))
})

test("an index key is the beginning of a text and never ends within a character", () => {
  assert.equal(indexKey("x".repeat(300)), "x".repeat(300))
  assert.equal(indexKey("x".repeat(301)), "x".repeat(300))
  const cut = indexKey(`${"x".repeat(299)}🎈y`)
  assert.equal(cut, "x".repeat(299))
  assert.ok(indexKey("🎈".repeat(400)).isWellFormed())
})

test("the searched text has a maximum length, even if folding expands its characters", () => {
  assert.equal(searchText("A", "b c"), "a\nb c")
  assert.equal([...searchText("x".repeat(200), "x".repeat(2_000))].length, 2_201)
  assert.equal([...searchText("🎈".repeat(200), "🎈".repeat(2_000))].length, 2_201)
  assert.equal([...searchText("x", "\ufdfa".repeat(2_000))].length, 2_400)
})
