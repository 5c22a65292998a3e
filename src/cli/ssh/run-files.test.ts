import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtemp, open, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { RunFiles } from "./run-files.ts"
import { openLocalShell } from "./testing/local-shell.ts"

test("a pipe is no file, and stops no session", { timeout: 60_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "quayside-run-files-"))
  const [pipe, file] = [join(directory, "pipe"), join(directory, "file")]
  execFileSync("mkfifo", [pipe])
  await writeFile(file, "text\n")
  using shell = openLocalShell(65_536)
  const files = new RunFiles(shell)
  try {
    await assert.rejects(files.assertReadable(pipe), { message: "This is no file", kind: "failed" })
    await assert.rejects(files.create(pipe, { mode: undefined, isNew: false, truncates: true }), { message: "This is no file" })
    await files.assertReadable(file)
    await assert.rejects(files.assertReadable(join(directory, "none")), { kind: "missing" })
  } finally {
    // A program that waits for a writer of the pipe goes on.
    await (await open(pipe, "r+")).close()
    await rm(directory, { recursive: true })
  }
})
