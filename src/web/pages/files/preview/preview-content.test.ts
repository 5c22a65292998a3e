import assert from "node:assert/strict"
import { test } from "node:test"
import { parseCsv } from "./csv.ts"
import { imagePath } from "./image-path.ts"
import { parseNotebook } from "./notebook.ts"

test("a table's fields may hold separators, quotes and line ends", () => {
  const text = 'a,b\r\n"1,5","say ""hi""\nthere"\n\nx,y'
  assert.deepEqual(parseCsv(text, { separator: ",", maxRows: 10 }), [
    ["a", "b"],
    ["1,5", 'say "hi"\nthere'],
    ["x", "y"],
  ])
  assert.equal(parseCsv("a\nb\nc", { separator: ",", maxRows: 2 }).length, 2)
  assert.deepEqual(parseCsv("a\tb", { separator: "\t", maxRows: 2 }), [["a", "b"]])
})

test("a notebook shows sources, texts and images, and no markup", () => {
  const notebook = {
    cells: [
      { cell_type: "markdown", source: ["# T\n", "x"] },
      {
        cell_type: "code",
        source: "1",
        outputs: [
          { output_type: "stream", text: ["a", "b"] },
          { output_type: "display_data", data: { "image/png": "iVBO\nRw==", "text/html": "<script>" } },
          { output_type: "display_data", data: { "image/png": '"><script>', "text/html": "<b>", "text/plain": "plain" } },
          { output_type: "error", ename: "E", evalue: "v" },
        ],
      },
      null,
    ],
  }
  const { cells, language } = parseNotebook(JSON.stringify(notebook)) ?? assert.fail()
  assert.equal(language, "python")
  assert.deepEqual(
    cells.map(({ kind, source }) => [kind, source]),
    [
      ["markdown", "# T\nx"],
      ["code", "1"],
      ["raw", ""],
    ],
  )
  const outputs = [{ text: "ab" }, { imageUrl: "data:image/png;base64,iVBORw==" }, { text: "plain" }, { text: "E: v" }]
  assert.deepEqual(cells[1]?.outputs, outputs)
  assert.equal(parseNotebook('{"cells": [], "metadata": {"language_info": {"name": "julia"}}}')?.language, "julia")
  for (const text of ["", "{}", '{"cells": 1}', "[1", "null"]) assert.equal(parseNotebook(text), undefined, text)
})

test("a hostile file makes no page of millions of elements", () => {
  const row = parseCsv(",".repeat(262_144), { separator: ",", maxRows: 200 })[0]
  assert.ok(Number(row?.length) <= 200)
  const cell = { cell_type: "code", source: "", outputs: Array(500_000).fill({}) }
  assert.ok(Number(parseNotebook(JSON.stringify({ cells: [cell] }))?.cells[0]?.outputs.length) <= 100)
  const long = { cell_type: "markdown", source: "x".repeat(100_000) }
  assert.deepEqual(
    parseNotebook(JSON.stringify({ cells: [long, long, long] }))?.cells.map(({ kind }) => kind),
    ["markdown", "markdown", "raw"],
  )
})

test("a text shows images of its own directory and of no other place", () => {
  const at = (href: string) => imagePath("/users/ann/d", href)
  assert.equal(at("figures/./a%20b.png"), "/users/ann/d/figures/a b.png")
  assert.equal(at("x/../plot.JPG"), "/users/ann/d/plot.JPG")
  for (const href of [
    "https://example.org/a.png",
    "//example.org/a.png",
    "/users/bob/a.png",
    "\\a.png",
    "../a.png",
    "%2e%2e/a.png",
    "x/..%2f..%2fa.png",
    "a.svg",
    "a.html?b.png",
    "%.png",
  ])
    assert.equal(at(href), undefined, href)
})
