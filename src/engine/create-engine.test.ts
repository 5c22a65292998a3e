import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { createEngine } from "./create-engine.ts"

test("creating a Docker engine needs no daemon and loads no client", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-create-"))
  try {
    const options = {
      kind: "docker",
      instance: "one",
      filesRoot: folder,
      stagingDir: join(folder, "staging"),
      uid: 1000,
      socketPath: "/none",
    }
    const code = `
      import { createRequire } from "node:module"
      import { createEngine } from ${JSON.stringify(new URL("create-engine.ts", import.meta.url).href)}
      const loaded = () => Object.keys(createRequire("/").cache).some((path) => path.includes("dockerode"))
      const engine = await createEngine(${JSON.stringify(options)})
      const before = loaded()
      const failure = await engine.ping().catch((error) => error.code)
      console.log(before, failure, loaded())`
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", code])
    assert.equal(stdout.trim(), "false engine_unreachable true")
  } finally {
    await rm(folder, { recursive: true })
  }
})

test("a Docker engine with root as the runs' user is rejected", async () => {
  const options = { kind: "docker", instance: "one", filesRoot: "/tmp", stagingDir: "/tmp/none", uid: 0 } as const
  await assert.rejects(createEngine(options), /user ID 0/)
})
