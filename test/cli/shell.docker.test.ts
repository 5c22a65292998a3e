import assert from "node:assert/strict"
import { once } from "node:events"
import { readdir, readFile } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { after, test } from "node:test"
import { openShell as openControlShell } from "#channel"
import { runCommandLine } from "#cli"
import { basicAuth, bearerAuth, createClient } from "#client"
import { connectTo } from "../control/control-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { startServerProcess } from "../server-process.ts"
import { collector } from "./program.ts"

const server = await startServerProcess()
after(() => server[Symbol.asyncDispose]())
const sockets = new Set<Socket>()
let connections = 0
const proxy = createServer((socket) => {
  connections += 1
  const upstream = connect(Number(new URL(server.baseUrl).port), "127.0.0.1")
  socket.pipe(upstream).pipe(socket)
  for (const [each, other] of [
    [socket, upstream],
    [upstream, socket],
  ] as const) {
    sockets.add(each)
    each.on("error", () => {}).on("close", () => sockets.delete(each) && other.destroy())
  }
})
proxy.listen(0, "127.0.0.1")
await once(proxy, "listening")
after(() => proxy.close())
const dropConnections = () => sockets.forEach((socket) => void socket.destroy())

const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "shells" } })
const { ID: ImageID } = await admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })
const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "Fit", Type: "http", ImageID } })
assert.equal((await admin.startRun({ body: { ProjectID } })).State, "ready")

const shells = join(server.directory, "data/shells")

async function storedOutputs(): Promise<string[]> {
  const names = (await readdir(shells)).filter((name) => name.endsWith(".output"))
  return Promise.all(names.map((name) => readFile(join(shells, name), "utf8")))
}

/** `quayside shell` on a terminal whose keys the test presses. */
function openShell() {
  const env = { QUAYSIDE_SERVER: `http://127.0.0.1:${(proxy.address() as { port: number }).port}`, QUAYSIDE_TOKEN: Token }
  const stdin = Object.assign(new PassThrough(), { isTTY: true, isRaw: false, setRawMode: (raw: boolean) => (stdin.isRaw = raw) })
  const [stdout, stderr] = [collector(), collector()]
  const streams = { stdin, stdout: Object.assign(stdout.stream, { isTTY: true }), stderr: stderr.stream }
  const { signal } = new AbortController()
  const ended = runCommandLine({ ...streams, env, signal, platform: "linux", version: "0", program: [] }, ["shell", "Fit"])
  let seen = 0
  return {
    stdin,
    stdout: stdout.text,
    stderr: stderr.text,
    ended,
    type: (text: string) => stdin.write(text),
    /** Waits for text that was not shown before. */
    shows: async (text: string) => {
      await eventually(`the shell shows ${text}`, () => stdout.text().indexOf(text, seen) >= 0)
      seen = stdout.text().length
    },
  }
}

test("after a lost connection `shell` is the same shell, with its last output", async () => {
  const shell = openShell()
  shell.type("kept=same; echo be''gun\r")
  await shell.shows("begun")
  for (let n = 0; n < 2; n += 1) {
    connections = 0
    dropConnections()
    await shell.shows("begun")
    assert.equal(connections, 1, "the connection that opened is the one that it uses")
    shell.type(`echo $kept-${n}\r`)
    await shell.shows(`same-${n}`)
  }
  shell.type("exit 5\r")
  assert.equal(await shell.ended, 5)
  assert.match(shell.stderr(), /(?:The connection was lost; connecting again …[\s\S]*){2}/)
})

test("a shell comes back with its output after its server was killed, and again after that", async () => {
  const shell = openShell()
  shell.type("kept=same; echo be''gun\r")
  await shell.shows("begun")
  for (let n = 0; n < 2; n += 1) {
    // The output is stored a moment after it came.
    await eventually("the output is stored", async () => (await storedOutputs()).some((text) => text.includes("begun")))
    shell.type(`(while [ ! -e /tmp/back-${n} ]; do sleep 0.1; done; echo mean''while-${n}) & echo wai''ts\r`)
    await shell.shows("waits")
    await server.kill("SIGKILL")
    await server.start()
    await shell.shows("begun")
    shell.type(`touch /tmp/back-${n}; wait; echo $kept-${n}\r`)
    await shell.shows(`same-${n}`)
  }
  shell.type("exit 5\r")
  assert.equal(await shell.ended, 5, shell.stderr())
  assert.match(shell.stdout(), /meanwhile-0[\s\S]*same-0[\s\S]*meanwhile-1[\s\S]*same-1/)
  await eventually("nothing of it is left", async () => (await readdir(shells)).length === 0)
})

test("a shell that no client comes back to ends with its proof, also after its server was killed", async () => {
  const token = await admin.createToken({ body: { Name: "gone soon" } })
  const { data } = await admin.listRuns()
  using connection = await connectTo(data[0]?.ControlURL ?? "", bearerAuth(token.Token))
  const orphan = openControlShell(connection)
  await orphan.started
  await eventually("its record is stored", async () => (await readdir(shells)).some((name) => name.endsWith(".json")))
  await server.kill("SIGKILL")
  await server.start()
  await eventually("it has a record again", async () => (await readdir(shells)).some((name) => name.endsWith(".json")))
  await admin.deleteToken({ query: { ID: token.ID } })
  await eventually("nothing of it is left", async () => (await readdir(shells)).length === 0)
})

test("a shell whose server stopped ends with a sentence, and another one opens in the same run", async () => {
  const shell = openShell()
  shell.type("touch /tmp/made; echo be''gun\r")
  await shell.shows("begun")
  await server.kill("SIGTERM")
  await server.start()
  assert.equal(await shell.ended, 4)
  assert.match(shell.stderr(), /This shell has ended; open a new one\n$/)
  assert.equal(shell.stdin.isRaw, false)
  const next = openShell()
  next.type("ls /tmp/ma*; exit 0\r")
  await next.shows("/tmp/made")
  assert.equal(await next.ended, 0)
})
