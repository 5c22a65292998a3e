import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { runSteps, stepsOf } from "../docs/page.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"
import { buildPackage, ensurePythonTools, installFresh, packageDirectory } from "./environment.ts"

const root = resolve(import.meta.dirname, "../..")
const execute = promisify(execFile)
const tools = await ensurePythonTools()
const directory = await mkdtemp(join(tmpdir(), "quayside-python-"))
after(() => rm(directory, { recursive: true, force: true }))
const projects = { Fit: "fake/http", penguins: "fake/http", Broken: "fake/exits:3", Silent: "fake/silent" }
let python = ""
let server: TestServer
let ann: Person

before(async () => {
  const { wheel } = await buildPackage(tools, directory)
  python = await installFresh(tools, join(directory, "venv"), wheel)
  server = await startTestServer()
  ann = await server.person("ann")
})
after(() => server[Symbol.asyncDispose]())

/** Runs a program, and fails with what it printed. */
async function run(program: string, words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const all = { PATH: `${join(directory, "venv/bin")}:${process.env.PATH}`, HOME: directory, ...env }
  return execute(program, words, { cwd: packageDirectory, env: all }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => assert.fail(`${stdout}\n${stderr}`),
  )
}

test("the wheel, built from the source distribution, imports with its declared dependencies alone", async () => {
  const program = `
import importlib.metadata, fsspec, quayside.fs, quayside.magic
assert fsspec.get_filesystem_class("quayside") is quayside.fs.QuaysideFileSystem
assert any(each.name == "LICENSE" for each in importlib.metadata.files("quayside"))
print(importlib.metadata.version("quayside"), quayside.__file__)
`
  const [version, file] = (await run(python, ["-c", program])).trim().split(" ")
  assert.equal(version, JSON.parse(await readFile(join(root, "package.json"), "utf8")).version)
  assert.ok(file?.startsWith(directory))
})

test("types, style and format of the Python package are as its settings demand, and it says that it is typed", async () => {
  await Promise.all([
    run(join(tools.bin, "ruff"), ["check", "--no-cache", "."]),
    run(join(tools.bin, "ruff"), ["format", "--no-cache", "--check", "."]),
    run(join(tools.bin, "mypy"), ["--cache-dir", tools.typeCache, "--python-executable", tools.python, "src"]),
  ])
  await run(python, ["-c", "import importlib.resources as r; r.files('quayside').joinpath('py.typed').read_text()"])
})

test("the installed Python package works against a server", async () => {
  for (const [ProjectName, Image] of Object.entries(projects)) {
    const image = await ann.client.createImage({ body: { Name: ProjectName, Image } })
    await ann.client.createProject({ body: { ProjectName, Type: "http", ImageID: image.ID } })
  }
  for (const Name of ["Spectra", "penguins"]) await ann.client.createData({ body: { Name } })
  await mkdir(join(directory, "home"))
  const env = {
    PYTHONPATH: tools.packages,
    HOME: join(directory, "home"),
    QUAYSIDE_SERVER: server.quayside.baseUrl,
    QUAYSIDE_TOKEN: ann.authorization.slice("Bearer ".length),
  }
  const printed = await run(python, ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], env)
  assert.match(printed, /\d+ passed/)
  assert.deepEqual((await ann.client.listRuns()).data, [], "every run was stopped")
})

test("docs/how-to/python.md: every command and program works as written", { timeout: 300_000 }, async () => {
  const steps = await stepsOf(new URL("../../docs/how-to/python.md", import.meta.url))
  const bob = await server.person("bob")
  const cwd = await mkdtemp(join(directory, "page-"))
  await writeFile(join(cwd, "token"), bob.authorization.slice("Bearer ".length))
  const env = {
    API: server.quayside.baseUrl,
    CHECKOUT: root,
    HOME: cwd,
    PYTHONPATH: tools.packages,
    PIP_NO_INDEX: "1",
    PIP_NO_COMPILE: "1",
    // pip reads it as the value of --build-isolation: the build uses the packages of PYTHONPATH.
    PIP_NO_BUILD_ISOLATION: "0",
    PIP_FIND_LINKS: tools.wheels,
  }
  const printed = (await runSteps(steps, { cwd, env })).join("")
  assert.match(printed, /499500[\s\S]*'data\/Spectra\/raw\/notes.txt'[\s\S]*hello from the run\n[\s\S]*fake\/http started/)
  assert.match(printed, /\d+ Fit\n400 invalid ImageID/)
})
