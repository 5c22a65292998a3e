import assert from "node:assert/strict"
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { startServerProcess } from "../server-process.ts"
import { openCommandLine } from "./program.ts"

test("a container is started, read, worked in and stopped from the command line", async () => {
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
    "quayside/python-app",
    "--port",
    "8000",
    "--command",
    'sh -c "echo begun; echo warned >&2; exec python3 -m http.server 8000"',
  )
  await ok("project", "create", "Chain", "--image", "Box", "--type", "http")
  const run = (await ok("start", "Chain", "--wait", "--memory", "128MiB", "--json")).json()
  assert.deepEqual([run.State, run.Memory], ["ready", 128])
  const logs = await ok("logs", "Chain")
  assert.match(logs.stdout, /^begun$/m)
  assert.match(logs.stderr, /^warned$/m)
  const following = cli.run(["logs", "-f", "Chain"], { env })
  const program = await cli.run(["exec", "-i", "Chain", "--", "sh", "-c", "cat; exit 9"], { env, input: "through" })
  assert.deepEqual([program.code, program.stdout], [9, "through"])
  const folder = join(cli.directory, "folder")
  await mkdir(join(folder, "deep"), { recursive: true })
  await writeFile(join(folder, "deep/a.txt"), "from here")
  await ok("cp", folder, "Chain:/tmp")
  assert.equal((await ok("exec", "Chain", "--", "cat", "/tmp/folder/deep/a.txt")).stdout, "from here")
  const back = join(cli.directory, "back")
  await ok("cp", "Chain:/tmp/folder", back)
  assert.equal(await readFile(join(back, "folder/deep/a.txt"), "utf8"), "from here")
  assert.equal((await cli.run(["cp", "Chain:/tmp/folder", back], { env })).code, 5, "it is there already")
  // A second copy must not follow a link that the first one brought.
  await ok("exec", "Chain", "--", "sh", "-c", `ln -s ${folder} /tmp/trap`)
  await ok("cp", "Chain:/tmp/trap", back)
  await ok("exec", "Chain", "--", "sh", "-c", "rm /tmp/trap; mkdir /tmp/trap; echo hostile > /tmp/trap/b.txt")
  await ok("cp", "--force", "Chain:/tmp/trap", back)
  assert.deepEqual(await readdir(folder), ["deep"])
  assert.equal(await readFile(join(back, "trap/b.txt"), "utf8"), "hostile\n")
  assert.deepEqual((await readdir(back)).sort(), ["folder", "trap"], "nothing unfinished is left")
  await ok("stop", "Chain")
  assert.equal((await following).code, 0, "the output ends with the run")
})
