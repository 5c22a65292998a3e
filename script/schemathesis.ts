// Runs a strict validator and schemathesis against a server with the fake engine and some objects.
// Usage: node script/schemathesis.ts BIN-OF-VENV [--no-stateful] [options of `schemathesis run`]

import { spawn } from "node:child_process"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { basicAuth, bearerAuth, createClient } from "#client"
import { startServerProcess } from "../test/server-process.ts"
import { openManyAddressProxy } from "./lib/many-address-proxy.ts"

const [bin = "", ...words] = process.argv.slice(2)
const options = words.filter((word) => word !== "--no-stateful")
const isStateful = options.length === words.length

async function run(program: string, programWords: readonly string[]): Promise<number> {
  const child = spawn(join(bin, program), programWords, { stdio: ["ignore", "inherit", "inherit"] })
  const [code] = await once(child, "exit")
  return code ?? 1
}

process.env.SCHEMATHESIS_HOOKS = join(import.meta.dirname, "lib/schemathesis_hooks.py")
await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_LOG_LEVEL: "warn" })
const { baseUrl, password, directory } = server
await using proxy = await openManyAddressProxy(Number(new URL(baseUrl).port))
const first = createClient({ baseUrl, authorization: basicAuth("admin", password) })
// The caller has a high ID, because schemathesis deletes objects with low ones.
for (let i = 0; i < 60; i += 1) await first.createUser({ body: { UserName: `person-${i}` } })
await first.createUser({ body: { UserName: "tester", Password: password, IsAdmin: true } })
const tester = createClient({ baseUrl, authorization: basicAuth("tester", password) })
for (let i = 0; i < 60; i += 1) await tester.createToken({ body: { Name: "another" } })
const { Token } = await tester.createToken({ body: { Name: "schemathesis" } })
const client = createClient({ baseUrl, authorization: bearerAuth(Token) })
const image = await client.createImage({ body: { Name: "web", Image: "fake/http", IsPublished: true } })
const data = await client.createData({ body: { Name: "flowers" } })
await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID, TrainData: [{ ID: data.ID }] } })
const description = join(directory, "openapi.json")
const openapi = await client.openapi()
await writeFile(description, JSON.stringify(openapi))
process.exitCode = await run("openapi-spec-validator", ["--schema", "3.1", description])
// That what fits is accepted is asked for by a check of our own, which knows what is beyond
// schemas: lib/schemathesis_hooks.py.
const config = `[checks]
positive_data_acceptance.enabled = false
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 414, 415, 429, "5xx"]
`
const configFile = join(directory, "schemathesis.toml")
await writeFile(configFile, config)
const asked = `http://localhost:${proxy.port}`
const common = ["--config-file", configFile, "run", `${asked}/openapi.json`, "--header", `Authorization: Bearer ${Token}`]
const schemathesis = (...more: string[]) => run("schemathesis", [...common, "--suppress-health-check", "all", ...more, ...options])
// A process waits for each answer, some of which take seconds, so several share the paths. Links
// between operations (the phase "stateful") need all paths.
const groupCount = 5
const paths = Object.keys(openapi.paths as object).sort()
const groups = Array.from({ length: groupCount }, (_, group) => {
  const own = paths.filter((_path, i) => i % groupCount === group)
  return ["--include-path-regex", `^(${own.join("|")})$`, "--phases", "examples,coverage,fuzzing"]
})
if (isStateful) groups.push(["--phases", "stateful"])
if (process.exitCode === 0) process.exitCode = Math.max(...(await Promise.all(groups.map((group) => schemathesis(...group)))))
