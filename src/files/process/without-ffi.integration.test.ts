import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"

/*
 * If Node.js cannot call the C library, nothing is answered from the kernel's caches, and the
 * thread pool makes all calls. The same tests pass then.
 */

const folder = join(import.meta.dirname, "..")
const files = ["tree/swapped-at-worst-moment.test.ts", "methods/entries.test.ts", "methods/get-and-put.test.ts", "methods/upload.test.ts"]

test("without the C library files are served by the same rules", () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const words = [
    "--no-experimental-ffi",
    "--test",
    "--test-force-exit",
    "--test-timeout=60000",
    "--test-reporter=spec",
    ...files.map((name) => join(folder, name)),
  ]
  const { status, stdout } = spawnSync(process.execPath, words, { env, encoding: "utf8" })
  assert.equal(status, 0, stdout)
  assert.match(stdout, /pass [1-9]\d/)
})
