import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { createLogger } from "#kit"
import { loginAccounts, warnAboutLoginAccount } from "./run-user.ts"

const passwd = `root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
carol:x:1000:1000:Carol,,,:/home/carol:/bin/bash
quayside:x:1001:1001::/nonexistent:/usr/sbin/nologin
again:x:1000:100::/home/again:
broken:x:1000
`

test("loginAccounts returns the accounts with the runs' user ID that can sign in", () => {
  assert.deepEqual(loginAccounts(1000, passwd), ["carol", "again"])
  for (const uid of [1, 1001, 4242]) assert.deepEqual(loginAccounts(uid, passwd), [])
})

test("the log names such accounts and the setting to change", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-passwd-"))
  const lines: string[] = []
  const logger = createLogger("warn", (line) => lines.push(line))
  try {
    await writeFile(join(folder, "passwd"), passwd)
    for (const uid of [1000, 1001]) await warnAboutLoginAccount(uid, logger, join(folder, "passwd"))
    await warnAboutLoginAccount(1000, logger, join(folder, "missing"))
  } finally {
    await rm(folder, { recursive: true })
  }
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? "", /"accounts":\["carol","again"\].*QUAYSIDE_RUN_UID/)
})
