import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { globSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { postgresServer } from "./postgres.ts"

/** Runs the tests of a folder, or those of these names alone, with PostgreSQL below; throws what failed. */
export async function passes(folder: string, names?: readonly string[]): Promise<void> {
  await using server = await postgresServer()
  const isWanted = names ? new RegExp(`/(${names.join("|")})\\.test\\.ts$`) : /\/[\w-]+\.test\.ts$/
  const files = globSync(fileURLToPath(new URL(`../../../${folder}/*.test.ts`, import.meta.url))).filter((file) => isWanted.test(file))
  assert.ok(names ? files.length === names.length : files.length > 5)
  const env: NodeJS.ProcessEnv = { ...process.env, WORLD_POSTGRES: server.urlOf("postgres") }
  delete env.NODE_TEST_CONTEXT
  const args = ["--test", "--test-concurrency=2", "--test-timeout=120000", "--test-reporter=tap", ...files]
  const { status, stdout } = spawnSync(process.execPath, args, { env, encoding: "utf8", maxBuffer: 1 << 26 })
  assert.equal(
    status,
    0,
    stdout
      .split("\n")
      .filter((line) => /^\s*not ok/.test(line))
      .join("\n"),
  )
  assert.match(stdout, /^# pass [1-9]\d+$/m)
}
