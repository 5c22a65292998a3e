import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { createReadStream } from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { listenByPython, openKillableServer } from "./killable-server.ts"

const gibibyte = 2 ** 30

async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest("hex")
}

test("a file of 1 GiB is the same after the server was killed in the middle of its copy, in both directions", async () => {
  const server = await openKillableServer()
  await server.startProject("App", "quayside/python-app", listenByPython)
  const source = join(server.directory, "gibibyte.bin")
  await using file = await open(source, "w")
  for (let written = 0; written < gibibyte; written += 2 ** 24) await file.write(randomBytes(2 ** 24))
  const back = join(server.directory, "back")
  for (const words of [
    [source, "App:/work/code"],
    ["App:/work/code/gibibyte.bin", back],
  ]) {
    const outcome = await server.interrupted(gibibyte / 2, ...words, "--json")
    assert.equal(outcome.code, 0, outcome.stderr)
    assert.equal(outcome.json().bytes, gibibyte)
    assert.ok(server.bytesSinceKill < 0.75 * gibibyte, `the copy went on, and did not begin again: ${server.bytesSinceKill} further bytes`)
  }
  assert.equal(await sha256Of(join(back, "gibibyte.bin")), await sha256Of(source))
})
