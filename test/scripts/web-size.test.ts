import assert from "node:assert/strict"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { test } from "node:test"
import { ensureWebBuild } from "../fixtures/web-build.ts"

const build = new URL("../../dist/web/", import.meta.url)
const maxBytes = 200_000

/** The files of the build that a browser loads before it draws a page, by their names. */
function filesOf(page: string): Set<string> {
  const assets = readdirSync(new URL("assets/", build))
  const html = readFileSync(new URL("index.html", build), "utf8")
  const chunk = assets.find((name) => name.startsWith(`${page}-page-`) && name.endsWith(".js"))
  assert.ok(chunk, `the build has a file of the page ${page}`)
  const queue = [chunk, ...[...html.matchAll(/\/ui\/assets\/([\w.-]+)"/g)].map(([, name = ""]) => name)]
  const found = new Set<string>()
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (found.has(name)) continue
    found.add(name)
    if (!name.endsWith(".js")) continue
    const code = readFileSync(new URL(`assets/${name}`, build), "utf8")
    queue.push(...[...code.matchAll(/(?:from|import)"\.\/([\w.-]+\.js)"/g)].map(([, imported = ""]) => imported))
  }
  return found
}

test("script and style of the home page have at most 200 KB compressed", async (t) => {
  await ensureWebBuild()
  const files = filesOf("home")
  assert.ok(files.size > 3, "the page imports shared files")
  const bytes = [...files].reduce((sum, name) => sum + statSync(new URL(`assets/${name}.br`, build)).size, 0)
  t.diagnostic(`${bytes} bytes in ${files.size} files`)
  assert.ok(bytes <= maxBytes, `${bytes} bytes: ${[...files].join(", ")}`)
})
