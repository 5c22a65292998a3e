import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { freePorts } from "../world.ts"

const program = fileURLToPath(new URL("../../bin/quayside.js", import.meta.url))
const directory = await mkdtemp(join(tmpdir(), "quayside-serve-"))
after(() => rm(directory, { recursive: true, force: true }))

/** Starts a server that is expected to give up; returns what it printed and its exit code. */
async function refused(env: Readonly<Record<string, string>>): Promise<{ code: number | null; text: string }> {
  const ports = (await freePorts(3)).map(String) as [string, string, string]
  const settings = {
    QUAYSIDE_ENGINE: "fake",
    QUAYSIDE_PORT: ports[0],
    QUAYSIDE_APPS_PORT: ports[1],
    QUAYSIDE_FILES_PORT: ports[2],
    QUAYSIDE_DATA_DIR: join(directory, "data"),
    QUAYSIDE_ADMIN_PASSWORD: "a password",
    QUAYSIDE_LOG_LEVEL: "error",
  }
  const child = spawn(process.execPath, [program, "serve"], {
    env: { ...process.env, ...settings, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (text += chunk))
  const [code] = (await once(child, "close")) as [number | null]
  return { code, text }
}

/** One sentence for the administrator, exit code 1, and nothing else. */
function assertSentence({ code, text }: { code: number | null; text: string }, sentence: RegExp): void {
  assert.match(text, sentence)
  assert.equal(text.trim().split("\n").length, 1, text)
  assert.equal(code, 1)
}

for (const name of ["PORT", "APPS_PORT", "FILES_PORT"]) {
  test(`a start is refused in one sentence when QUAYSIDE_${name} is taken`, async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    const { port } = other.address() as { port: number }
    assertSentence(await refused({ [`QUAYSIDE_${name}`]: String(port) }), new RegExp(`^quayside: .*${port}.* is taken`))
    other.close()
  })
}

test("a start is refused in one sentence when the data directory cannot be made or is none", async () => {
  const file = join(directory, "file")
  await writeFile(file, "")
  for (const path of ["/proc/nowhere/data", file, join(file, "below")]) {
    assertSentence(await refused({ QUAYSIDE_DATA_DIR: path }), new RegExp(`^quayside: ${path.slice(0, 6)}.* cannot be used`))
  }
})

test("a start is refused in one sentence that names an unknown setting or a wrong value", async () => {
  assertSentence(await refused({ QUAYSIDE_PROT: "1" }), /^quayside: QUAYSIDE_PROT is no setting of Quayside; did you mean QUAYSIDE_PORT\?/)
  assertSentence(await refused({ QUAYSIDE_PORT: "80a" }), /^quayside: QUAYSIDE_PORT must be a whole number .*; got "80a"/)
})
