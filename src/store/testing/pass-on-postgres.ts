import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { globSync } from "node:fs"
import { basename } from "node:path"
import { after, before, describe, test } from "node:test"
import { fileURLToPath } from "node:url"
import { type PostgresServer, postgresServer } from "./postgres.ts"

/**
 * Files of test/api about code in front of the store or beside it: addresses, heads and bodies of
 * requests, connections, ports, sign-in by OpenID. With PostgreSQL they run in the slow tier only.
 */
export const notAboutStore = ["access-log", "event-connections", "hostile", "http", "installation", "openid", "ports", "proxies"]

/** The names of test files, without their endings: only these, or all except these. */
type Selection = { only: readonly string[] } | { except: readonly string[] }

/** Declares a test per test file of the folders: the file passes with PostgreSQL as with SQLite. */
export function passOnPostgres(selections: Readonly<Record<string, Selection>>): void {
  const files = Object.entries(selections).flatMap(([folder, selection]) => filesOf(folder, selection))
  describe("With PostgreSQL below these pass", { concurrency: 3 }, () => {
    let server: PostgresServer
    before(async () => {
      server = await postgresServer()
    })
    after(() => server[Symbol.asyncDispose]())
    // Each test in a file has its own time-out.
    const timeout = 600_000
    for (const file of files) {
      test(basename(file), { timeout }, async () => assert.equal(await failuresOf(file, server.urlOf("postgres")), ""))
    }
  })
}

function filesOf(folder: string, selection: Selection): string[] {
  const names = "only" in selection ? selection.only : selection.except
  const all = globSync(fileURLToPath(new URL(`../../../${folder}/*.test.ts`, import.meta.url))).filter((file) =>
    /\/[\w-]+\.test\.ts$/.test(file),
  )
  const named = all.filter((file) => names.includes(basename(file, ".test.ts")))
  assert.equal(named.length, names.length, `${folder} has ${named.length} of the test files ${names.join(", ")}`)
  const files = "only" in selection ? named : all.filter((file) => !named.includes(file))
  return files.sort()
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
