import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { test } from "node:test"
import { hanging, locateFaults, parts } from "./index.ts"

const root = resolve(import.meta.dirname, "../..")
const mutants = [...Object.values(parts).flat(), ...hanging]

test("every fault changes one place of an existing file, and names existing tests", () => {
  for (const [{ file, fault, replace, tests }, { start, end }] of locateFaults(root, mutants)) {
    assert.notEqual(readFileSync(join(root, file), "utf8").slice(start, end), replace, fault)
    assert.ok(tests.length > 0 && tests.every((path) => existsSync(join(root, path))), fault)
  }
})
