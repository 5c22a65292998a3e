import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { pythonFiles, pythonSources } from "../../script/lib/python/files.ts"
import { referencePages } from "./reference.ts"

test("the reference pages match the code's tables", () => {
  for (const [name, text] of Object.entries(referencePages())) {
    const committed = readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), "utf8")
    assert.ok(committed === text, `docs/reference/${name} is not current: run script/reference`)
  }
})

test("the Python client's types, operations and synchronous modules are current", () => {
  for (const [name, text] of Object.entries(pythonFiles())) {
    const committed = readFileSync(new URL(name, pythonSources), "utf8")
    assert.ok(committed === text, `${name} is not current: run script/python-client`)
  }
})
