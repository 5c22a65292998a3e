import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { freePorts } from "../fixtures/free-ports.ts"

const script = (name: string) => fileURLToPath(new URL(`../../script/${name}`, import.meta.url))

interface Place extends AsyncDisposable {
  readonly base: string
  readonly directory: string
  run(name: string, ...words: string[]): Promise<{ code: number; output: string }>
  /** Sends a request as the sample's administrator. */
  request(method: string, path: string): Promise<unknown>
}

/** Ports and a data directory for an installation by script/start; its processes end with it. */
async function place(): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), "quayside-start-"))
  const [port, apps, files] = await freePorts(3)
  const names = { QUAYSIDE_PORT: port, QUAYSIDE_APPS_PORT: apps, QUAYSIDE_FILES_PORT: files, QUAYSIDE_DATA_DIR: join(directory, "data") }
  const env = { ...process.env, ...Object.fromEntries(Object.entries(names).map(([name, value]) => [name, String(value)])) }
  const base = `http://localhost:${port}`
  const run: Place["run"] = (name, ...words) =>
    new Promise((resolve) => {
      execFile(script(name), words, { env }, (error, stdout, stderr) =>
        resolve({ code: Number(error?.code ?? 0), output: stdout + stderr }),
      )
    })
  const request: Place["request"] = async (method, path) => {
    const password = (await readFile(join(directory, "data/admin-password"), "utf8")).trim()
    const headers = { authorization: `Basic ${btoa(`admin:${password}`)}` }
    const response = await fetch(base + path, { method, headers, signal: AbortSignal.timeout(40_000) })
    assert.equal(response.status, 200, await response.clone().text())
    return response.json()
  }
  const end = async () => {
    try {
      for (const ID of runIds(await request("GET", "/running_projects"))) await request("DELETE", `/running_project?ID=${ID}`)
    } finally {
      await run("stop")
    }
    await rm(directory, { recursive: true })
  }
  return { base, directory, run, request, [Symbol.asyncDispose]: end }
}

test("script/start ends with a URL that answers, changes nothing when it runs again, and script/stop leaves the run alone", async () => {
  await using there = await place()
  const first = await there.run("start")
  assert.equal(first.code, 0, first.output)
  const url = /^penguins\s+(\S+)$/m.exec(first.output)?.[1] ?? ""
  assert.match(url, /^http:\/\/localhost:\d+\/run\/\d+\/$/)
  const before = await there.request("GET", "/projects?UserName=admin")
  const runs = await there.request("GET", "/running_projects")

  const second = await there.run("start")
  assert.equal(second.code, 0, second.output)
  assert.doesNotMatch(second.output, /Making|Uploading|Starting|Installing|Building/)
  assert.deepEqual(await there.request("GET", "/projects?UserName=admin"), before)
  assert.deepEqual(runIds(await there.request("GET", "/running_projects")), runIds(runs))

  assert.equal((await there.run("stop")).code, 0)
  await assert.rejects(fetch(`${there.base}/healthz`))
  assert.match((await there.run("stop")).output, /not running/)
  const third = await there.run("start")
  assert.equal(third.code, 0, third.output)
  assert.doesNotMatch(third.output, /Making|Uploading|Starting the project/)
  assert.ok(third.output.includes(url), "the run went on")
})

test("script/start does not print the password", async () => {
  await using there = await place()
  const { code, output } = await there.run("start")
  assert.equal(code, 0, output)
  const password = (await readFile(join(there.directory, "data/admin-password"), "utf8")).trim()
  assert.ok(password.length >= 16)
  assert.equal((await stat(join(there.directory, "data/admin-password"))).mode & 0o777, 0o600)
  const log = await readFile(join(there.directory, "data/quayside.log"), "utf8")
  assert.ok(!log.includes(password))
})

const runIds = (list: unknown) => (list as { data: { ID: number }[] }).data.map(({ ID }) => ID)
