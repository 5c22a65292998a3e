import assert from "node:assert/strict"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { adminTexts } from "./administration.ts"
import { files } from "./files.ts"
import { texts } from "./index.ts"
import { resourceTexts } from "./resources.ts"

const root = join(import.meta.dirname, "../../..")
const properNames = new Set(["GiB", "GitHub", "JupyterLab", "OpenID", "WebDAV", "macOS", "noVNC"])

test("no text shows a name of the program's code", () => {
  const plain = stringsOf({ texts, resourceTexts, adminTexts, files })
  assert.ok(plain.length > 300, `only ${plain.length} texts were found`)
  const joined = plain.flatMap((text) => text.replace(/\{\w+\}/g, "").match(/\b\w*[a-z][A-Z]\w*/g) ?? [])
  assert.deepEqual(
    joined.filter((word) => !properNames.has(word)),
    [],
  )
})

/** Objects of texts that the code reads by computed names. */
const byName = ["hints", "refusals", "types", "limitNames", "mounting", "ranges"]

test("the code names every text", () => {
  const sources = globSync("src/web/**/*.{ts,tsx}", { cwd: root }).filter((path) => !path.includes("/text/") && !path.includes(".test."))
  const code = sources.map((path) => readFileSync(join(root, path), "utf8")).join("\n")
  const words = new Set(code.match(/\b\w+\b/g))
  const unused = namesOf({ texts, resourceTexts, adminTexts, files }, []).filter((name) => !words.has(name))
  assert.deepEqual(unused, [])
})

function namesOf(value: object, path: readonly string[]): string[] {
  if (path.some((name) => byName.includes(name))) return []
  return Object.entries(value).flatMap(([name, each]) => (typeof each === "object" ? namesOf(each, [...path, name]) : [name]))
}

function stringsOf(value: unknown): string[] {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : []
}
