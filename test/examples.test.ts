import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { basicAuth, createClient } from "#client"
import { type ServerProcess, startServerProcess } from "./server-process.ts"

const program = (name: string) => fileURLToPath(new URL(`../examples/${name}.ts`, import.meta.url))

function environment(server: ServerProcess): NodeJS.ProcessEnv {
  return { ...process.env, QUAYSIDE_API: server.baseUrl, QUAYSIDE_PROOF: `admin:${server.password}` }
}

function runExample(server: ServerProcess, name: string, ...words: string[]): Promise<{ code: number; text: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program(name), ...words], { env: environment(server) }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, text: stdout + stderr })
    })
  })
}

test("the examples start a project, list it, print why a start fails, and follow its events", async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  const client = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const image = await client.createImage({ body: { Name: "web", Image: "quayside/python-app:latest" } })
  await client.createProject({ body: { ProjectName: "penguins", Type: "http", ImageID: image.ID } })

  const following = spawn(process.execPath, [program("follow-runs")], { env: environment(server), stdio: ["ignore", "pipe", "inherit"] })
  await using stack = new AsyncDisposableStack()
  stack.defer(() => void following.kill("SIGKILL"))
  // The stream does not contain earlier events, so starts and stops are repeated until one is told.
  let told = ""
  void (async () => {
    for await (const line of createInterface({ input: following.stdout })) told += `${line}\n`
  })()
  const readyTold = () => /^run\.state\t\d+\tready$/m.test(told)
  do {
    assert.equal(following.exitCode, null, "follow-runs goes on")
    const started = await runExample(server, "start-project", "penguins")
    assert.match(started.text, /^ready http:\/\/.*\/run\/\d+\//)
    const listed = await runExample(server, "who-runs-what")
    assert.match(listed.text, /^admin\tpenguins\tready\thttp/)
    const repeated = await runExample(server, "start-project", "penguins")
    assert.equal(repeated.code, 1)
    assert.match(repeated.text, /^already_running: .* at http/)
    const [run] = (await client.listRuns()).data
    await client.stopRun({ query: { ID: run?.ID ?? 0 } })
  } while (!readyTold())
  following.kill("SIGINT")
  assert.deepEqual(await once(following, "exit"), [0, null])

  const missing = await runExample(server, "start-project", "nowhere")
  assert.equal(missing.code, 1)
  assert.match(missing.text, /^not_found: /)
})
