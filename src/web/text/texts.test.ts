import assert from "node:assert/strict"
import { test } from "node:test"
import { adminTexts } from "./administration.ts"
import { files } from "./files.ts"
import { texts } from "./index.ts"
import { resourceTexts } from "./resources.ts"

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

function stringsOf(value: unknown): string[] {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : []
}
