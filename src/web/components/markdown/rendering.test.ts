import assert from "node:assert/strict"
import { test } from "node:test"
import temml from "temml"
import { codeParts } from "./code-parts.ts"
import { highlight } from "./highlight.ts"
import { markdownTokens } from "./markdown-tokens.ts"
import { maxExpandOf } from "./maths-limits.ts"
import { RenderBudget } from "./render-budget.ts"

/** A macro that repeats its argument, in a macro that is repeated. */
const multiplied = (times: number, length: number, uses: number) =>
  `\\def\\a#1{${"#1".repeat(times)}}\\def\\b{\\a{${"x".repeat(length)}}}${"\\b".repeat(uses)}`

test("a formula becomes no page of millions of elements", () => {
  const shapes = [
    multiplied(400, 200, 48),
    multiplied(35, 70, 8),
    multiplied(60, 30, 5).replaceAll("\\def", "\\newcommand"),
    `\\pu{${"/".repeat(28)}}`,
    `\\pu{${"a//".repeat(20)}}`,
    `\\begin{array}{${"c".repeat(900)}}${"&".repeat(900)}\\end{array}`,
    `\\ce{${"->[".repeat(600)}}`,
    "x^{".repeat(600),
    "{".repeat(1_000) + "}".repeat(1_000),
    "x".repeat(3_000),
  ]
  for (const text of shapes) {
    const maxExpand = maxExpandOf(text)
    if (maxExpand === undefined) continue
    const markup = temml.renderToString(text, { throwOnError: false, trust: false, maxExpand })
    assert.ok(markup.length < 400_000, `${text.slice(0, 40)}… has ${markup.length} characters`)
  }
  for (const text of ["\\frac{a}{b}", "\\ce{H2O}", "\\pu{5 m/s}", "\\newcommand{\\R}{\\mathbb{R}} f: \\R \\to \\R"])
    assert.notEqual(maxExpandOf(text), undefined, text)
})

test("code is coloured in short parts that end with lines", () => {
  const paragraph = `${"def f(a):\n    return a\n".repeat(30)}\n`
  const text = paragraph.repeat(8)
  const parts = codeParts(text)
  assert.equal(parts.map((part) => part.text).join(""), text)
  assert.ok(parts.every((part) => part.text.length <= 2_000 && !part.isLong && part.text.endsWith("\n\n")))
  const [long, rest] = codeParts(`${"func ".repeat(2_000)}\n${paragraph}`)
  assert.deepEqual([long?.isLong, rest], [true, { text: paragraph, isLong: false }])
  assert.deepEqual(codeParts("a\nb"), [{ text: "a\nb", isLong: false }])
  assert.deepEqual(codeParts(""), [])
  assert.ok(highlight("a = 1", "python")?.length)
})

test("the parts of a text are rendered one after another until their time is used up", async () => {
  let now = 0
  const rendered: number[] = []
  const budget = new RenderBudget(() => now)
  const render = (i: number, ms: number) =>
    budget.render(() => {
      rendered.push(i)
      now += ms
    })
  assert.deepEqual(await Promise.all([render(1, 300), render(2, 1_600), render(3, 500), render(4, 1)]), [true, true, true, false])
  assert.deepEqual(rendered, [1, 2, 3])
})

test("a part that cannot be rendered does not stop the next one", async () => {
  const budget = new RenderBudget()
  const broken = budget.render(() => {
    throw new RangeError("Maximum call stack size exceeded")
  })
  assert.equal(await broken, false)
  assert.equal(await budget.render(() => {}), true)
})

test("the cells of a notebook are parsed within one time, and the others stay as they are", () => {
  const budget = new RenderBudget()
  const cell = "*a_".repeat(1_700)
  const began = performance.now()
  const types = Array.from({ length: 50 }, () => budget.parse((maxMs) => markdownTokens(cell, maxMs))[0]?.type)
  const tookMs = performance.now() - began
  assert.equal(types.at(-1), "code")
  assert.ok(tookMs < 2_000, `it took ${tookMs} ms`)
})
