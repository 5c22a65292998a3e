import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"

const read = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"))

test("every package with an install script is listed as one that may run it or may not", () => {
  const { packages } = read("package-lock.json") as { packages: Record<string, { hasInstallScript?: boolean }> }
  const { allowScripts } = read("package.json") as { allowScripts: Record<string, boolean> }
  const scripted = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript)
  const names = new Set(scripted.map((path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)))
  assert.deepEqual([...names].toSorted(), Object.keys(allowScripts).toSorted())
  assert.deepEqual(
    Object.keys(allowScripts).filter((name) => allowScripts[name]),
    ["node"],
    "the one that is needed fetches Node itself",
  )
})

test("every package of the lock file comes from the public npm registry", () => {
  const { packages } = read("package-lock.json") as { packages: Record<string, { resolved?: string }> }
  const elsewhere = Object.values(packages).flatMap(({ resolved }) =>
    resolved?.startsWith("https://registry.npmjs.org/") === false ? [resolved] : [],
  )
  assert.deepEqual(elsewhere, [])
})
