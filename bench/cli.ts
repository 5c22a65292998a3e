// The start of the command line, against bare Node.

import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { startTestServer } from "../test/test-server.ts"
import { median, spread } from "./tools.ts"

const run = promisify(execFile)
const rounds = 15
const program = resolve(import.meta.dirname, "../bin/quayside.js")
const home = await mkdtemp(join(tmpdir(), "quayside-bench-"))
await using server = await startTestServer()
const { Token } = await server.admin.createToken({ body: { Name: "bench" } })
const env = { PATH: process.env.PATH, HOME: home, QUAYSIDE_SERVER: server.quayside.baseUrl, QUAYSIDE_TOKEN: Token }

const contenders = { "bare node": ["-e", "0"], "--version": [program, "--version"], ls: [program, "ls", "--json"] }
const times = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]))
for (let round = -2; round < rounds; round += 1) {
  for (const [name, words] of Object.entries(contenders)) {
    const started = performance.now()
    await run(process.execPath, words, { env })
    if (round >= 0) times.get(name)?.push(performance.now() - started)
  }
}
await rm(home, { recursive: true })
const of = (name: keyof typeof contenders) => times.get(name) ?? []
for (const [name, all] of times) process.stdout.write(`${name.padEnd(12)} ${spread(all)} ms\n`)
process.stdout.write(`--version takes ${(median(of("--version")) / median(of("bare node"))).toFixed(2)} times bare node (1.5 wanted)\n`)
process.stdout.write(`ls takes ${(median(of("ls")) - median(of("bare node"))).toFixed(0)} ms more than bare node (150 wanted)\n`)
