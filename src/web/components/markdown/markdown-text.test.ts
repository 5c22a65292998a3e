import assert from "node:assert/strict"
import { test } from "node:test"
import { decodeReferences, safeHref } from "./markdown-text.ts"
import { markdownTokens as tokensOf } from "./markdown-tokens.ts"
import { isMaths } from "./maths-tokens.ts"

const maxMs = 500
const markdownTokens = (text: string) => tokensOf(text, maxMs)

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
  for (const part of ["a__", "> ", "1. ", "$$\n", "$a "]) {
    const text = part.repeat(262_144 / part.length)
    assert.ok(markdownTokens(text).length > 0)
  }
  for (const space of [" ", "\n", "\t"]) assert.ok(markdownTokens(`$$${space.repeat(262_000)}x`).length > 0)
  assert.deepEqual(
    markdownTokens("_*a".repeat(80_000)).map(({ type }) => type),
    ["code"],
  )
  assert.deepEqual(
    markdownTokens("# a\nb").map(({ type }) => type),
    ["heading", "paragraph"],
  )
})

test("an address between words is a link; one of thousands of marks does not delay the page", () => {
  const linkOf = (text: string) => {
    const [paragraph] = markdownTokens(text)
    const tokens = paragraph && "tokens" in paragraph ? (paragraph.tokens ?? []) : []
    return tokens.flatMap((token) => (token.type === "link" ? [token.raw] : []))
  }
  assert.deepEqual(linkOf("see www.example.org/a?b=1!!! or ann@example.org."), ["www.example.org/a?b=1", "ann@example.org"])
  assert.deepEqual(linkOf(`https://example.org/${"a".repeat(3_000)}`), [])
  for (const text of [`www.a${"!".repeat(262_000)}`, `~~${"www.www.~".repeat(14_500)}${"!".repeat(131_000)}-`]) {
    const began = performance.now()
    markdownTokens(text)
    const tookMs = performance.now() - began
    assert.ok(tookMs < 5 * maxMs, `${text.slice(0, 20)} took ${tookMs} ms`)
  }
})

test("formulas are written between dollars, and prices are none", () => {
  const formulas = (text: string) => {
    const [paragraph] = markdownTokens(text)
    const tokens = paragraph && "tokens" in paragraph ? (paragraph.tokens ?? []) : markdownTokens(text)
    return tokens.filter(isMaths).map(({ text: formula, isBlock }) => [formula, isBlock])
  }
  assert.deepEqual(formulas("from $a_i*b*$ to $`x$y`$ and $$z$$"), [
    ["a_i*b*", false],
    ["x$y", false],
    ["z", true],
  ])
  assert.deepEqual(formulas("$$\n\\frac{a}{b}\n$$\n"), [["\\frac{a}{b}", true]])
  assert.deepEqual(formulas("  $$ a $$  \nb"), [["a", true]])
  assert.deepEqual(markdownTokens("$$a$$ b\n")[0]?.type, "paragraph")
  for (const text of ["it costs $5 or $6", "$ a $", "`$a$`", "$a\nb$"]) assert.deepEqual(formulas(text), [], text)
})
