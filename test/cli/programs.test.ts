import assert from "node:assert/strict"
import { once } from "node:events"
import { connect } from "node:net"
import { Readable, Writable } from "node:stream"
import { after, test } from "node:test"
import { runCommandLine } from "#cli"
import { startTestServer } from "../test-server.ts"
import { openCommandLine } from "./program.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const ann = await server.person("ann")
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())
const env = { QUAYSIDE_SERVER: server.quayside.baseUrl, QUAYSIDE_TOKEN: ann.authorization.slice("Bearer ".length) }
const image = await ann.client.createImage({ body: { Name: "Web", Image: "fake/http", Port: "8080" } })
const project = await ann.client.createProject({ body: { ProjectName: "Fit", Type: "http", ImageID: image.ID } })
const run = await ann.client.startRun({ body: { ProjectID: project.ID } })

test("exec passes words, variables and standard input, and exits with the program's code", async () => {
  const words = ["exec", "Fit", "--env", "A=1", "--", "sh", "-c", "echo out; warn err; exit 3"]
  const { code, stdout, stderr } = await cli.spawn(words, { env })
  assert.deepEqual([code, stdout, stderr], [3, "out\n", "err\n"])
  assert.match((await cli.run(["exec", "Fit", "--env", "A=b c", "--", "env"], { env })).stdout, /^A=b c$/m)
  assert.equal((await cli.run(["exec", "-i", "Fit", "--", "cat"], { env, input: "grüße" })).stdout, "grüße")
  assert.equal((await cli.run(["exec", "Fit", "--", "cat"], { env, input: "nobody reads this" })).stdout, "")
})

test("exec of a missing program exits with 127, and of a run that has no container with 5", async () => {
  assert.equal((await cli.run(["exec", "Fit", "--", "no-such"], { env })).code, 127)
  const other = await ann.client.createProject({ body: { ProjectName: "Over", Type: "http", ImageID: image.ID } })
  const { ID } = await ann.client.startRun({ body: { ProjectID: other.ID } })
  await ann.client.stopRun({ query: { ID } })
  const { code, stderr } = await cli.run(["exec", String(ID), "--", "env"], { env })
  assert.deepEqual([code, /cannot be controlled/.test(stderr)], [5, true], stderr)
})

test("Ctrl-C reaches the program of an exec", async () => {
  const controller = new AbortController()
  const sleeping = cli.run(["exec", "Fit", "--", "sh", "-c", "echo begun; sleep 60"], {
    env,
    signal: controller.signal,
    onOutput: () => controller.abort(),
  })
  assert.equal((await sleeping).code, 130)
})

test("a shell works on a terminal of its size, and is refused without one", async () => {
  assert.equal((await cli.run(["shell", "Fit"], { env })).code, 2)
  const stdin = Object.assign(new Readable({ read() {} }), { isTTY: true, isRaw: false, setRawMode: (raw: boolean) => (stdin.isRaw = raw) })
  let shown = ""
  const stdout = Object.assign(
    new Writable({
      write: (chunk, _encoding, done) => {
        shown += chunk
        if (shown.endsWith("$ ")) stdin.push(shown.includes("33 99") ? "exit 7\r" : "stty size\r")
        done()
      },
    }),
    { isTTY: true, columns: 99, rows: 33 },
  )
  const streams = { stdin, stdout, stderr: stdout, signal: new AbortController().signal }
  const process = { env, ...streams, platform: "linux" as const, version: "0", program: [] }
  assert.equal(await runCommandLine(process, ["shell", "Fit"]), 7)
  assert.match(shown, /33 99/)
  assert.equal(stdin.isRaw, false, "the terminal is as it was")
})

test("forward carries connections to a port of the run, and names one where nothing listens", async () => {
  const controller = new AbortController()
  const ports = Promise.withResolvers<{ local: number; remote: number }[]>()
  let heard = ""
  const forwarding = cli.run(["forward", "Fit", ":8080", ":9", "--json"], {
    env,
    signal: controller.signal,
    onOutput: (text) => {
      heard += text
      if (heard.trimEnd().endsWith("]")) ports.resolve(JSON.parse(heard))
    },
  })
  const [open, closed] = await ports.promise
  assert.deepEqual([open?.remote, closed?.remote], [8080, 9])
  const response = await fetch(`http://127.0.0.1:${open?.local}/echo`, { method: "POST", body: "x".repeat(500_000) })
  assert.equal(((await response.json()) as { body: string }).body.length, 500_000)
  const socket = connect(closed?.local ?? 0, "127.0.0.1")
  socket.on("error", () => {})
  await once(socket, "close")
  controller.abort()
  assert.equal((await forwarding).code, 0)
})

test("strangers can neither see nor control a run", async () => {
  const bob = await server.person("bob")
  const asBob = { ...env, QUAYSIDE_TOKEN: bob.authorization.slice("Bearer ".length) }
  assert.equal((await cli.run(["exec", String(run.ID), "--", "env"], { env: asBob })).code, 4)
  await server.acquaint(ann, bob)
  await ann.client.createGrant({ body: { RunID: run.ID, UserName: "bob", Access: "use" } })
  assert.equal((await cli.run(["exec", String(run.ID), "--", "env"], { env: asBob })).code, 5)
})
