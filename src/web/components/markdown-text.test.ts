import assert from "node:assert/strict"
import { test } from "node:test"
import { decodeReferences, safeHref } from "./markdown-text.ts"
import { markdownTokens } from "./markdown-tokens.ts"

test("character references become characters, unknown ones stay", () => {
  assert.equal(decodeReferences("a &amp; b &lt;b&gt; &#65;&#x42; &nope; &amp;lt;"), "a & b <b> AB &nope; &lt;")
  assert.equal(decodeReferences("&#0; &#xd800; &#9999999;"), "\ufffd \ufffd \ufffd")
  assert.equal(decodeReferences("&constructor; &toString;"), "&constructor; &toString;")
})

test("a link keeps web and mail addresses and loses every scheme that runs script", () => {
  const base = "https://quayside.example/ui/"
  assert.equal(safeHref("https://example.org/a?b=1&amp;c=2", base), "https://example.org/a?b=1&c=2")
  assert.equal(safeHref("/docs", base), "https://quayside.example/docs")
  assert.equal(safeHref("mailto:a@example.org", base), "mailto:a@example.org")
  for (const href of [
    "javascript:alert(1)",
    "JaVa\nScript:alert(1)",
    "&#106;avascript:alert(1)",
    "data:text/html,x",
    "vbscript:x",
    "blob:x",
  ])
    assert.equal(safeHref(href, base), undefined, href)
  assert.equal(safeHref("https://[", base), undefined)
})

test("texts that the parser would take hours for are plain text", () => {
  for (const part of ["a__", "> ", "1. "]) {
    const text = part.repeat(262_144 / part.length)
    assert.ok(markdownTokens(text).length > 0)
  }
  assert.deepEqual(
    markdownTokens("_*a".repeat(80_000)).map(({ type }) => type),
    ["code"],
  )
  assert.deepEqual(
    markdownTokens("# a\nb").map(({ type }) => type),
    ["heading", "paragraph"],
  )
})
