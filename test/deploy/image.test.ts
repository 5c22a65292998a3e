import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"

const directory = mkdtempSync(join(tmpdir(), "quayside-image-"))
after(() => rmSync(directory, { recursive: true }))

test("the container image keeps the style and the icon of the server's own pages, and neither tests nor the web UI's code", () => {
  const [, cleaning] = /&& (find src .* -delete)/.exec(readFileSync("Dockerfile", "utf8")) ?? assert.fail("no cleaning")
  cpSync("src", join(directory, "src"), { recursive: true })
  execFileSync("sh", ["-c", cleaning ?? ""], { cwd: directory })
  for (const path of ["web/style/tokens.css", "web/style/server-pages.css", "web/icon.svg", "main/index.ts"])
    assert.ok(existsSync(join(directory, "src", path)), path)
  assert.deepEqual(globSync(["src/**/*.test.ts", "src/web/**/*.{ts,tsx}"], { cwd: directory }), [])
})
