import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { promisify } from "node:util"
import { createEngine } from "./create-engine.ts"
import { kernelNames } from "./docker/network/kernel-names.ts"

/** Runs code in a new process, after the creation of a Docker `engine` without a daemon. */
async function withDockerEngine(code: string): Promise<string> {
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
    const script = `
      import { createRequire } from "node:module"
      import { createEngine } from ${JSON.stringify(new URL("create-engine.ts", import.meta.url).href)}
      const engine = await createEngine(${JSON.stringify(options)})
      ${code}`
    return (await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script])).stdout.trim()
  } finally {
    await rm(folder, { recursive: true })
  }
}

test("creating a Docker engine needs no daemon and loads no client, whose gRPC is never loaded", async () => {
  const printed = await withDockerEngine(`
    const loaded = (name) => Object.keys(createRequire("/").cache).some((path) => path.includes(name))
    const before = loaded("dockerode")
    const failure = await engine.ping().catch((error) => error.code)
    console.log(before, failure, loaded("dockerode"), loaded("@grpc"))`)
  assert.equal(printed, "false engine_unreachable true false")
})

const skip = process.getuid?.() !== 0 && "only root joins groups"
test("a Docker engine joins at once the group that the rules of an earlier process admit", { skip }, async () => {
  const groups = JSON.parse(await withDockerEngine("console.log(JSON.stringify(process.getgroups()))")) as number[]
  assert.ok(groups.includes(kernelNames("one").gid), groups.join())
})

test("a Docker engine with root as the runs' user is rejected", async () => {
  const options = { kind: "docker", instance: "one", filesRoot: "/tmp", stagingDir: "/tmp/none", uid: 0 } as const
  await assert.rejects(createEngine(options), /user ID 0/)
})
