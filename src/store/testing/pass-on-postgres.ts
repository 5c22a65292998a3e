import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { globSync } from "node:fs"
import { basename } from "node:path"
import { after, before, describe, test } from "node:test"
import { fileURLToPath } from "node:url"
import { type PostgresServer, postgresServer } from "./postgres.ts"

/**
 * Declares a test per test file of a folder (or per given name): the file passes with PostgreSQL as
 * with SQLite.
 */
export function passOnPostgres(folder: string, names?: readonly string[]): void {
  const isWanted = names ? new RegExp(`/(${names.join("|")})\\.test\\.ts$`) : /\/[\w-]+\.test\.ts$/
  const files = globSync(fileURLToPath(new URL(`../../../${folder}/*.test.ts`, import.meta.url))).filter((file) => isWanted.test(file))
  assert.ok(names ? files.length === names.length : files.length > 5)
  describe(`With PostgreSQL below, what ${folder} asks holds`, { concurrency: 3 }, () => {
    let server: PostgresServer
    before(async () => {
      server = await postgresServer()
    })
    after(() => server[Symbol.asyncDispose]())
    // Each test in a file has its own time-out.
    const timeout = 600_000
    for (const file of files.sort()) {
      test(basename(file), { timeout }, async () => assert.equal(await failuresOf(file, server.urlOf("postgres")), ""))
    }
  })
}

/** The failures of a test file, one line each; a file without any test is a failure, too. */
async function failuresOf(file: string, url: string): Promise<string> {
  const env: NodeJS.ProcessEnv = { ...process.env, TEST_POSTGRES: url }
  delete env.NODE_TEST_CONTEXT
  const args = ["--test", "--test-timeout=120000", "--test-reporter=tap", file]
  const { hasPassed, output } = await new Promise<{ hasPassed: boolean; output: string }>((resolve) => {
    execFile(process.execPath, args, { env, maxBuffer: 1 << 26 }, (error, stdout) => resolve({ hasPassed: error === null, output: stdout }))
  })
  if (hasPassed && /^# tests [1-9]/m.test(output)) return ""
  return output
    .split("\n")
    .filter((line) => /^\s*not ok|^# tests /.test(line))
    .join("\n")
}
