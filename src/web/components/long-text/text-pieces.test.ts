import assert from "node:assert/strict"
import { test } from "node:test"
import { maxPieceLength, textPieces } from "./text-pieces.ts"

test("a long text is divided into short pieces, at line ends where there are some", () => {
  const lines = `${"a line of text\n".repeat(1_000)}the end`
  const unbroken = "\u05d0a".repeat(10_000)
  const pairs = `x${"\u{1f600}".repeat(10_000)}`
  for (const text of [lines, unbroken, pairs, "\n".repeat(10_000), "", "short"]) {
    const pieces = textPieces(text)
    assert.equal(pieces.join(""), text)
    assert.ok(pieces.every((piece) => piece.length <= maxPieceLength && piece.isWellFormed()))
  }
  assert.ok(
    textPieces(lines)
      .slice(0, -1)
      .every((piece) => piece.endsWith("\n")),
  )
})
