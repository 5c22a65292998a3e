import assert from "node:assert/strict"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { startServerProcess } from "../server-process.ts"
import { openCommandLine } from "./program.ts"

test("a container is started, read, worked in and stopped from the command line", async () => {
  const reference = await ensureBusyboxImage()
  await using server = await startServerProcess()
  await using cli = await openCommandLine()
  const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const { Token } = await admin.createToken({ body: { Name: "chain" } })
  const env = { QUAYSIDE_SERVER: server.baseUrl, QUAYSIDE_TOKEN: Token }
  const ok = async (...words: string[]) => {
    const outcome = await cli.run(words, { env })
    assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`)
    return outcome
  }
  await ok(
    "image",
    "create",
    "Box",
    reference,
    "--port",
    "8000",
    "--command",
    'sh -c "echo begun; echo warned >&2; exec httpd -f -p 8000 -h /"',
  )
  await ok("project", "create", "Chain", "--image", "Box", "--type", "http")
  const run = (await ok("start", "Chain", "--wait", "--memory", "64MiB", "--json")).json()
  assert.deepEqual([run.State, run.Memory], ["ready", 64])
  const logs = await ok("logs", "Chain")
  assert.deepEqual([logs.stdout, logs.stderr], ["begun\n", "warned\n"])
  const following = cli.run(["logs", "-f", "Chain"], { env })
  const program = await cli.run(["exec", "-i", "Chain", "--", "sh", "-c", "cat; exit 9"], { env, input: "through" })
  assert.deepEqual([program.code, program.stdout], [9, "through"])
  await ok("stop", "Chain")
  assert.equal((await following).code, 0, "the output ends with the run")
})
