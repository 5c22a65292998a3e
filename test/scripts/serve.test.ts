import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { freePorts } from "../fixtures/free-ports.ts"

const program = fileURLToPath(new URL("../../bin/quayside.js", import.meta.url))
const directory = await mkdtemp(join(tmpdir(), "quayside-serve-"))
after(() => rm(directory, { recursive: true, force: true }))

async function settings(): Promise<Record<string, string>> {
  const ports = (await freePorts(3)).map(String) as [string, string, string]
  return {
    QUAYSIDE_ENGINE: "fake",
    QUAYSIDE_PORT: ports[0],
    QUAYSIDE_APPS_PORT: ports[1],
    QUAYSIDE_FILES_PORT: ports[2],
    QUAYSIDE_DATA_DIR: join(directory, "data"),
    QUAYSIDE_ADMIN_PASSWORD: "a password",
    QUAYSIDE_LOG_LEVEL: "error",
  }
}

function started(env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [program, "serve"], { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk))
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, text }))
  return { child, ended, printed: () => text }
}

/** Starts a server whose start fails; returns its output and exit code. */
async function refused(env: Readonly<Record<string, string>>): Promise<{ code: number | null; text: string }> {
  return started({ ...(await settings()), ...env }).ended
}

/** One sentence for the administrator, exit code 1, no other output. */
function assertSentence({ code, text }: { code: number | null; text: string }, sentence: RegExp): void {
  assert.match(text, sentence)
  assert.equal(text.trim().split("\n").length, 1, text)
  assert.equal(code, 1)
}

for (const name of ["PORT", "APPS_PORT", "FILES_PORT"]) {
  test(`the start fails with one sentence if the port of QUAYSIDE_${name} is in use`, async (t) => {
    const other = createServer().listen(0, "127.0.0.1")
    t.after(() => other.close())
    await once(other, "listening")
    const { port } = other.address() as { port: number }
    assertSentence(await refused({ [`QUAYSIDE_${name}`]: String(port) }), new RegExp(`^quayside: .*${port}.* is in use`))
  })
}

/**
 * Starts a server and sends SIGTERM when `step` exists in its data directory. Tries again a few
 * times if the server was ready before that.
 */
async function stoppedAt(step: string) {
  let last: { env: Record<string, string>; code: number | null; text: string } | undefined
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const dataDir = await mkdtemp(join(directory, "stopped-"))
    const env = { ...(await settings()), QUAYSIDE_DATA_DIR: join(dataDir, "data") }
    const stopped = started(env)
    while (!existsSync(join(dataDir, "data", step))) await new Promise((resolve) => setImmediate(resolve))
    stopped.child.kill("SIGTERM")
    last = { env, ...(await stopped.ended) }
    if (!last.text.includes("Quayside is ready")) return last
  }
  return last
}

test("a server that gets SIGTERM before it is ready exits silently with code 0, and starts the next time", async () => {
  for (const step of ["", "quayside.db", "files"]) {
    const { env = {}, ...end } = (await stoppedAt(step)) ?? {}
    assert.deepEqual(end, { code: 0, text: "" }, step)
    const repeated = started(env)
    while (!repeated.printed().includes("Quayside is ready")) await once(repeated.child.stdout, "data")
    repeated.child.kill("SIGTERM")
    assert.equal((await repeated.ended).code, 0)
  }
})

test("a remote daemon in DOCKER_HOST is ignored with a warning", async () => {
  const env = { ...(await settings()), QUAYSIDE_DATA_DIR: join(directory, "elsewhere"), DOCKER_HOST: "tcp://192.0.2.1:2375" }
  const server = started(env)
  while (!server.printed().includes("Quayside is ready")) await once(server.child.stdout, "data")
  server.child.kill("SIGTERM")
  const { code, text } = await server.ended
  assert.equal(code, 0)
  assert.match(text, /^quayside: DOCKER_HOST is ignored: .*; got tcp:\/\/192\.0\.2\.1:2375$/m)
})

test("the start fails with one sentence if the data directory cannot be created or is a file", async () => {
  const file = join(directory, "file")
  await writeFile(file, "")
  for (const path of ["/proc/nowhere/data", file, join(file, "below")]) {
    assertSentence(await refused({ QUAYSIDE_DATA_DIR: path }), new RegExp(`^quayside: ${path.slice(0, 6)}.* cannot be used`))
  }
})

test("the start fails with one sentence that names an unknown setting or a wrong value", async () => {
  assertSentence(
    await refused({ QUAYSIDE_PROT: "1" }),
    /^quayside: QUAYSIDE_PROT is not a setting of Quayside; did you mean QUAYSIDE_PORT\?/,
  )
  assertSentence(await refused({ QUAYSIDE_PORT: "80a" }), /^quayside: QUAYSIDE_PORT must be a whole number .*; got "80a"/)
})
