import assert from "node:assert/strict"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import ssh2 from "ssh2"
import type { CliProcess } from "../io/cli.ts"
import { createKey, ensureKeys, sshFiles } from "./keys.ts"

test("every key of thousands can be read, also those whose public half begins with a zero", () => {
  for (let count = 0; count < 3000; count++) {
    const key = createKey()
    const [secret, open] = [ssh2.utils.parseKey(key.private), ssh2.utils.parseKey(key.public)]
    assert(!(secret instanceof Error) && !(open instanceof Error), key.public)
    assert.deepEqual(open.getPublicSSH(), secret.getPublicSSH())
  }
})

test("a damaged key is named, with what helps", async () => {
  const directory = await mkdtemp(join(tmpdir(), "quayside-keys-"))
  try {
    const process = { env: { HOME: directory }, platform: "linux" } as unknown as CliProcess
    const files = sshFiles(process)
    await ensureKeys(process, files)
    for (const file of [files.hostKey, files.identity]) {
      const text = await readFile(file, "utf8")
      await writeFile(file, text.slice(0, text.length / 2))
      await assert.rejects(ensureKeys(process, files), { message: /The key .*_ed25519 is damaged/, hint: /Remove .*ssh/ })
      await writeFile(file, text)
    }
  } finally {
    await rm(directory, { recursive: true })
  }
})
