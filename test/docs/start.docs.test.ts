import assert from "node:assert/strict"
import { test } from "node:test"
import { startServerProcess } from "../server-process.ts"
import { differences, runSteps, stepsOf } from "./page.ts"

const page = new URL("../../docs/start.md", import.meta.url)

test("docs/start.md: every command works as written and answers as shown", async () => {
  await using server = await startServerProcess()
  const steps = await stepsOf(page)
  assert.ok(steps.length > 15, `${steps.length} steps were found`)
  const printed = await runSteps(steps, { cwd: server.directory, env: { API: server.baseUrl, FILES: server.filesUrl } })
  assert.equal(printed.length, steps.length)
  steps.forEach((step, i) => {
    if (step.answer === undefined) return
    assert.deepEqual(differences(step.answer, JSON.parse(printed[i] ?? "")), [], `the answer at line ${step.line}`)
  })
})
