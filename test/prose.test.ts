// Comments and paragraphs wrap at 100 columns, so that they read well beside each other in an
// editor.

import { deepEqual } from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../", import.meta.url))
const maxColumns = 100
const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8" }).trim().split("\n")
/** `script/reference` makes these pages; their summaries stand on one line each. */
const isGenerated = (file: string) => /^docs\/(reference\/[^/]+|explanation\/(limits|permissions))\.md$/.test(file)

const linesOf = (file: string) => readFileSync(`${root}${file}`, "utf8").split("\n")
const isLong = (line: string) => line.length > maxColumns
/** A line that is one long word, such as an address, cannot be wrapped. */
const canWrap = (line: string) => /\S\s+\S/.test(line.slice(0, maxColumns))

const isComment = (line: string) => /^\s*(\/\/|\*|\/\*)/.test(line) && !line.includes("biome-ignore")

/** The numbers of long lines outside of code, tables and headings. */
function longProse(page: string): string[] {
  let isCode = false
  return linesOf(page).flatMap((line, i) => {
    if (/^\s*```/.test(line)) isCode = !isCode
    return isCode || /^\s*\||^#/.test(line) || !isLong(line) || !canWrap(line) ? [] : [`${page}:${i + 1}`]
  })
}

test(`comments wrap at ${maxColumns} columns`, () => {
  const sources = files.filter((file) => /\.(ts|tsx|js|mjs|css)$/.test(file))
  const long = sources.flatMap((file) =>
    linesOf(file).flatMap((line, i) => (isLong(line) && isComment(line) && canWrap(line) ? [`${file}:${i + 1}`] : [])),
  )
  deepEqual(long, [])
})

test(`paragraphs of the documentation wrap at ${maxColumns} columns`, () => {
  const pages = files.filter((file) => file.endsWith(".md") && !isGenerated(file))
  deepEqual(pages.flatMap(longProse), [])
})
