import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { startTestServer } from "../test-server.ts"

const root = resolve(import.meta.dirname, "../..")
const run = promisify(execFile)
const directory = await mkdtemp(join(tmpdir(), "quayside-npm-"))
after(() => rm(directory, { recursive: true, force: true }))
const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const ann = await server.person("ann")
const env = {
  PATH: `${join(process.execPath, "..")}:${process.env.PATH}`,
  HOME: directory,
  QUAYSIDE_SERVER: baseUrl,
  QUAYSIDE_TOKEN: ann.authorization.slice("Bearer ".length),
}

test("the npm package is installed from its tarball without other packages", async () => {
  const { stdout } = await run(process.execPath, [join(root, "script/pack.ts"), directory])
  await writeFile(join(directory, "package.json"), '{ "type": "module" }')
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", stdout.trim()], {
    cwd: directory,
    env: { ...process.env, HOME: directory },
  })
  const { dependencies } = JSON.parse(await readFile(join(directory, "node_modules/quayside/package.json"), "utf8"))
  assert.equal(dependencies, undefined)
})

test("its program works against a server, and says that it is none", async () => {
  const program = join(directory, "node_modules/.bin/quayside")
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
  assert.equal((await run(program, ["--version"], { env })).stdout, `${version}\n`)
  assert.equal((await run(program, ["ls", "--json"], { env })).stdout, "[]\n")
  const { stdout } = await run(program, ["ssh-config", "--json"], { env })
  assert.match(await readFile(JSON.parse(stdout).config, "utf8"), /ProxyCommand '.*node' '.*quayside.*' 'ssh-proxy' -- '%n'/)
  await assert.rejects(run(program, ["serve"], { env }), { code: 1, stderr: /no server/ })
})

test("a TypeScript program starts a run, reads its output and events, and stops it at the end of its scope", async () => {
  const image = await ann.client.createImage({ body: { Name: "Web", Image: "fake/http" } })
  const { ID } = await ann.client.createProject({ body: { ProjectName: "Fit", Type: "http", ImageID: image.ID } })
  await cp(join(import.meta.dirname, "package/program.ts"), join(directory, "program.ts"))
  await symlink(join(root, "node_modules/@types"), join(directory, "node_modules/@types"))
  const compilerOptions = { module: "nodenext", target: "es2022", lib: ["esnext"], types: ["node"], strict: true, skipLibCheck: false }
  await writeFile(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }))
  await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc")], { cwd: directory }).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  )
  const { stdout } = await run(process.execPath, ["program.js", String(ID)], { cwd: directory, env })
  assert.deepEqual(JSON.parse(stdout), { state: "ready", line: "fake/http started, port 8000", event: "run.created", refusal: "not_found" })
  assert.deepEqual((await ann.client.listRuns()).data, [])
})
