import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { test } from "node:test"
import { hanging, parts } from "./index.ts"

const root = resolve(import.meta.dirname, "../..")

test("every small fault stands in one place of a file that there is, and names tests that there are", () => {
  for (const { file, fault, find, replace, tests } of [...Object.values(parts).flat(), ...hanging]) {
    assert.equal(readFileSync(join(root, file), "utf8").split(find).length - 1, 1, `${file}: ${fault}`)
    assert.notEqual(find, replace, fault)
    assert.ok(tests.length > 0 && tests.every((path) => existsSync(join(root, path))), fault)
  }
})
