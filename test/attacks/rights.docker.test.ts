import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { freePorts } from "../fixtures/free-ports.ts"

const program = fileURLToPath(new URL("../../bin/quayside.js", import.meta.url))
const lines = (text: string) => text.trim().split("\n")

let directory: string
before(async () => {
  directory = await mkdtemp(join(tmpdir(), "quayside-rights-"))
  await mkdir(join(directory, "empty"))
})
after(() => rm(directory, { recursive: true, force: true }))

/** Starts a server in an altered environment, with its own data, and waits until it exits. */
async function refused(...prefix: string[]): Promise<{ code: number | null; text: string }> {
  const ports = (await freePorts(3)).map(String) as [string, string, string]
  const settings = {
    QUAYSIDE_PORT: ports[0],
    QUAYSIDE_APPS_PORT: ports[1],
    QUAYSIDE_FILES_PORT: ports[2],
    QUAYSIDE_DATA_DIR: await mkdtemp(join(directory, "data-")),
    QUAYSIDE_LOG_LEVEL: "error",
  }
  const commandLine = [...prefix, process.execPath, program, "serve"]
  const child = spawn(commandLine[0] ?? "", commandLine.slice(1), {
    env: { ...process.env, ...settings },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let text = ""
  const collect = (chunk: unknown) => {
    text += chunk
    // A server that starts despite the fault must not stay.
    if (text.includes("Quayside is ready")) child.kill("SIGTERM")
  }
  for (const stream of [child.stdout, child.stderr]) stream.on("data", collect)
  const [code] = (await once(child, "close")) as [number | null]
  return { code, text }
}

const without = (capability: string) => ["setpriv", "--bounding-set", `-${capability}`, "--inh-caps", `-${capability}`]
/** Replaces the firewall's tools, in a mount namespace of the program's own. */
const toolsHidden = () => [
  "unshare",
  "--mount",
  "sh",
  "-c",
  `for d in /usr/sbin /sbin; do if [ -e $d/iptables-save ]; then mount --bind ${join(directory, "empty")} $d; fi; done; exec "$@"`,
  "sh",
]

const missing: [what: string, prefix: () => string[], sentence: RegExp][] = [
  ["the right to set firewall rules", () => without("net_admin"), /^quayside: Isolation needs the right to set firewall rules/],
  ["the right to mount", () => without("sys_admin"), /^quayside: Isolation needs the right to mount/],
  ["the firewall's tools", toolsHidden, /^quayside: Isolation needs ip6?tables, which is not installed/],
]
for (const [what, prefix, sentence] of missing) {
  test(`a server without ${what} does not start, and reports the reason in one sentence`, {
    skip: !existsSync("/usr/bin/setpriv"),
  }, async () => {
    const { code, text } = await refused(...prefix())
    assert.match(text, sentence)
    assert.match(text, /QUAYSIDE_ISOLATION=off/)
    assert.equal(lines(text).length, 1, "it prints no password and nothing else")
    assert.equal(code, 1)
  })
}

test("a server of a user other than root does not start, and reports the reason in one sentence", async () => {
  const { code, text } = await refused("setpriv", "--reuid", "65534", "--clear-groups")
  assert.equal(code, 1)
  assert.equal(lines(text).length, 1, text)
})
