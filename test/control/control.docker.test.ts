import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { createConnection } from "node:net"
import { after, test } from "node:test"
import { type ChannelStream, type Multiplexer, openCopy, openExec, openFileCopy, openForward, openListen, openShell } from "#channel"
import { bounds } from "#contract"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"
import { connectTo, readUntil, runToEnd } from "./control-client.ts"

const server = await startTestServer({ engine: "docker" })
const ann = await server.person("ann")
const image = await server.admin.createImage({ body: { Name: "app", Image: "quayside/python-app", IsPublished: true } })
const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
const run = await ann.client.startRun({ body: { ProjectID: project.ID } })
after(async () => {
  await ann.client.stopRun({ query: { ID: run.ID } })
  await server[Symbol.asyncDispose]()
})
const connect = () => connectTo(run.ControlURL, ann.authorization)
const text = (data: string) => new TextEncoder().encode(data)
const sha256 = (data: Uint8Array) => createHash("sha256").update(data).digest("hex")
const sh = (connection: Multiplexer, script: string) => runToEnd(openExec(connection, { command: ["sh", "-c", script] }))

/** Those of the command lines, or of their beginnings, that run in the container. */
async function running(connection: Multiplexer, commands: readonly string[]): Promise<string[]> {
  const { stdout } = await sh(connection, `for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null`)
  return commands.filter((command) => stdout.split("\n").some((line) => line.startsWith(command)))
}

/** Whether a program with this argument runs in the container. */
async function runs(connection: Multiplexer, argument: string): Promise<boolean> {
  return (await running(connection, [`sleep ${argument}`])).length > 0
}

async function readBytes(stream: ChannelStream): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  for await (const { data } of stream) chunks.push(data)
  return Buffer.concat(chunks)
}

test("a program in a container has the run's user and environment, its own outputs, and an exit code", async () => {
  using connection = await connect()
  const result = await sh(connection, "id -un; echo $HOME; pwd >&2; exit 3")
  assert.deepEqual([result.stdout.split("\n")[0], result.exitCode], ["ann", 3])
  const terminal = { columns: 80, rows: 24 }
  const exits = Array.from({ length: 20 }, () => runToEnd(openExec(connection, { command: ["sh", "-c", "exit 5"], terminal })))
  const codes = (await Promise.all(exits)).map(({ exitCode }) => exitCode)
  assert.deepEqual(new Set(codes), new Set([5]), "also while the daemon learns the code after the output's end")
  const inTmp = openExec(connection, { command: ["pwd"], workDir: "/tmp", env: { A: "b" } })
  assert.equal((await runToEnd(inTmp)).stdout, "/tmp\n")
  await assert.rejects(openExec(connection, { command: ["no-such-program"] }).started, { code: "command_not_found" })
  const signalled = openExec(connection, { command: ["sleep", "1001"] })
  await signalled.started
  signalled.kill("SIGTERM")
  assert.equal((await signalled.exited).exitCode, 143)
})

test("a shell in a container is bash with a terminal: sizes, UTF-8, Ctrl-C, exit code and scroll-back", async () => {
  const first = await connect()
  const shell = openShell(first, { terminal: { columns: 100, rows: 30 } })
  const { session = "" } = await shell.started
  await shell.write(text("PS1='> '; stty size; echo $0\r"))
  assert.match(await readUntil(shell, "bash\r\n"), /30 100/)
  shell.resize({ columns: 60, rows: 20 })
  await shell.write(text("sleep 0.3; stty size; echo 'größer 😀'\r"))
  assert.match(await readUntil(shell, "größer 😀\r\n"), /20 60/)
  await shell.write(text("sleep 1002\r"))
  using beside = await connect()
  await eventually("the program runs", () => runs(beside, "1002"))
  await shell.write(text("\u0003"))
  await shell.write(text("echo code $?\r"))
  await readUntil(shell, "code 130")
  assert.equal(await runs(beside, "1002"), false)
  first.close(1000, "")
  using second = await connect()
  const again = openShell(second, { session, terminal: { columns: 90, rows: 40 } })
  await again.started
  await readUntil(again, "code 130")
  await again.write(text("stty size\r"))
  await readUntil(again, "40 90")
  await again.write(text("exit 5\r"))
  assert.equal((await runToEnd(again)).exitCode, 5)
})

test("a person copies a bounded number of trees at once", async () => {
  using connection = await connect()
  const copies = Array.from({ length: bounds.control.copies.value + 1 }, () => openCopy(connection, "in", "/tmp"))
  const outcomes = await Promise.all(
    copies.map((copy) =>
      copy.accepted.then(
        () => "accepted",
        ({ code }) => code,
      ),
    ),
  )
  assert.deepEqual(outcomes, [...Array(bounds.control.copies.value).fill("accepted"), "too_many_streams"])
  for (const copy of copies) copy.fail("cancelled", "")
})

test("the processes of a program end with its stream, also those that ignore signals, and with their connection", async () => {
  using connection = await connect()
  const stubborn = openExec(connection, { command: ["bash", "-c", "trap '' HUP TERM INT; sleep 1003 & nohup sleep 1003; sleep 1003"] })
  const other = await connect()
  const dropped = openExec(other, { command: ["sh", "-c", "sleep 1004; true"], terminal: { columns: 80, rows: 24 } })
  await Promise.all([stubborn.started, dropped.started])
  await eventually("both run", async () => (await runs(connection, "1003")) && (await runs(connection, "1004")))
  const shell = openShell(connection)
  await shell.write(text("sleep 1006\r"))
  await eventually("the shell's program runs", () => runs(connection, "1006"))
  shell.cancel()
  await eventually("the shell's program ended", async () => !(await runs(connection, "1006")))
  stubborn.cancel()
  other.close(1000, "")
  await eventually("both ended", async () => !(await runs(connection, "1003")) && !(await runs(connection, "1004")))
  const own = "setsid sh -c 'touch /tmp/own; exec sleep 1005' >/dev/null 2>&1 </dev/null &"
  await sh(connection, `${own} while [ ! -e /tmp/own ]; do sleep 0.05; done`)
  assert.equal(await runs(connection, "1005"), true, "a program with a session of its own continues")
})

test("64 MiB pass a forwarded connection both ways unchanged, and each direction ends alone", async () => {
  using connection = await connect()
  const echo = openExec(connection, {
    command: [
      "python3",
      "-c",
      "import socket\ns=socket.create_server(('',9001))\nprint('on',flush=True)\nc,_=s.accept()\nd=bytearray()\n" +
        "while b:=c.recv(1<<20): d+=b\nc.sendall(d)\nc.close()",
    ],
  })
  await readUntil(echo, "on")
  const stream = openForward(connection, 9001)
  await stream.accepted
  const data = randomBytes(64 * 2 ** 20)
  const receiving = readBytes(stream)
  await stream.write(data)
  stream.end()
  assert.equal(sha256(await receiving), sha256(data))
  await stream.done
  const local = openExec(connection, {
    command: ["python3", "-c", "import socket,time\ns=socket.create_server(('127.0.0.1',9002))\nprint('on',flush=True)\ntime.sleep(100)"],
  })
  await readUntil(local, "on")
  await assert.rejects(openForward(connection, 9002).accepted, /its own container only/)
  local.cancel()
})

test("a port of the client is at the loopback address of its run, and nowhere else", async () => {
  using connection = await connect()
  const received = Promise.withResolvers<string>()
  const listening = openListen(connection, 5432, async (stream) => {
    stream.accept()
    await stream.write(Buffer.alloc(4 * 2 ** 20, "y"))
    stream.end()
    received.resolve((await readBytes(stream)).toString())
  })
  assert.deepEqual(await listening.accepted, { port: 5432 })
  const client =
    "import socket\ns=socket.create_connection(('localhost',5432))\nd=0\nwhile b:=s.recv(1<<16): d+=len(b)\n" +
    "s.sendall(b'from the run')\ns.close()\nprint(d)"
  assert.equal((await runToEnd(openExec(connection, { command: ["python3", "-c", client] }))).stdout, `${4 * 2 ** 20}\n`)
  assert.equal(await received.promise, "from the run")
  await assert.rejects(openListen(connection, 5432, () => {}).accepted, { code: "unavailable", message: "Port 5432 of the run is in use" })
  await assert.rejects(openForward(connection, 5432).accepted, { code: "connection_refused" })
  const here = createConnection(5432, "127.0.0.1")
  await assert.rejects(once(here, "connect"), { code: "ECONNREFUSED" })
  listening.fail("cancelled", "")
  const again = "import socket\ntry: socket.create_connection(('localhost',5432))\nexcept OSError: print('refused')"
  await eventually("the port is closed", async () => {
    const { stdout } = await runToEnd(openExec(connection, { command: ["python3", "-c", again] }))
    return stdout === "refused\n"
  })
})

test("files are copied into a container and back as an archive, and hostile archives are rejected in both directions", async () => {
  using connection = await connect()
  await sh(connection, "mkdir -p /tmp/in /tmp/tree/a; head -c 3000000 /dev/urandom >/tmp/tree/a/data; ln -s data /tmp/tree/a/link")
  const out = openCopy(connection, "out", "/tmp/tree")
  const archive = await readBytes(out)
  await out.done
  const copyIn = async (data: Uint8Array, path: string) => {
    const stream = openCopy(connection, "in", path)
    await stream.write(data)
    stream.end()
    return stream.done
  }
  await copyIn(archive, "/tmp/in")
  assert.equal((await sh(connection, "diff -r /tmp/tree /tmp/in/tree && readlink /tmp/in/tree/a/link")).stdout, "data\n")
  await assert.rejects(copyIn(archive, "/tmp/none"), { code: "copy_failed" })
  await assert.rejects(openCopy(connection, "out", "/tmp/none").done, { code: "copy_failed", message: /tmp\/none|none/ })
  const { stdout: escaping } = await sh(connection, "cd /tmp/in && tar -cPf - ../tree/a/data | base64 -w0")
  await assert.rejects(copyIn(Buffer.from(escaping, "base64"), "/tmp/in"), { code: "unsafe_archive" })
  await sh(connection, "mkdir /tmp/bad && mkfifo /tmp/bad/pipe")
  const bad = openCopy(connection, "out", "/tmp/bad")
  await assert.rejects(readBytes(bad), { code: "unsafe_archive" })
})

test("the rest of a file is read and written at its place, and a failure is a code", async () => {
  using connection = await connect()
  const [blocks, rest] = [randomBytes(2 ** 21), randomBytes(70_001)]
  const write = async (offset: number, data: Uint8Array, path = "/tmp/-rest\nof a file") => {
    const stream = openFileCopy(connection, "in", { path, offset })
    await stream.write(data)
    stream.end()
    await stream.done
  }
  await write(0, blocks)
  await write(2 ** 21, rest)
  await write(0, blocks.subarray(0, 2 ** 20))
  const out = openFileCopy(connection, "out", { path: "/tmp/-rest\nof a file", offset: 2 ** 21 - 3 })
  assert.equal(sha256(await readBytes(out)), sha256(Buffer.concat([blocks.subarray(-3), rest])))
  await out.done
  const beyond = openFileCopy(connection, "out", { path: "/tmp/-rest\nof a file", offset: 2 ** 40 })
  assert.equal((await readBytes(beyond)).length, 0)
  await assert.rejects(write(0, rest, "/tmp/none/file"), { code: "copy_failed", message: /none/ })
  await assert.rejects(openFileCopy(connection, "out", { path: "/tmp/none", offset: 1 }).done, { code: "copy_failed", message: /none/ })
})

test("losing the right to control a run ends the copies under way, in both directions, and their programs", async () => {
  const fay = await server.person("fay")
  await server.acquaint(ann, fay)
  const grant = await ann.client.createGrant({ body: { RunID: run.ID, UserName: "fay", Access: "write" } })
  const fays = await connectTo(run.ControlURL, fay.authorization)
  const out = openFileCopy(fays, "out", { path: "/dev/zero", offset: 5 })
  const into = openCopy(fays, "in", "/tmp")
  const rest = openFileCopy(fays, "in", { path: "/tmp/rest", offset: 0 })
  await Promise.all([out, into, rest].map((stream) => stream.accepted))
  assert.ok((await out.read())?.data.length)
  await rest.write(new Uint8Array(70_000))
  using anns = await connect()
  const programs = ["tail -c +6", "tar -x", "dd of=/tmp/rest"]
  await eventually("the programs of the copies run", async () => (await running(anns, programs)).length === 3)
  await ann.client.deleteGrant({ query: { ID: grant.ID } })
  await Promise.all([out, into, rest].map((stream) => assert.rejects(stream.done, { code: "connection_lost" })))
  assert.match((await fays.closed).message, /The right to control this run/)
  await eventually("the programs have ended", async () => (await running(anns, programs)).length === 0)
})

test("of 200 streams one that is never read delays no other, and its program waits", async () => {
  using connection = await connect()
  const writes = "n=0; while :; do head -c 65536 /dev/zero; n=$((n + 1)); echo $n > /tmp/written; done"
  const unread = openExec(connection, { command: ["sh", "-c", writes] })
  await unread.started
  const answers = Array.from({ length: 199 }, async () => {
    const stream = openForward(connection, 8000)
    await stream.write(text("HEAD / HTTP/1.0\r\n\r\n"))
    return (await readBytes(stream)).toString().slice(0, 12)
  })
  assert.deepEqual(new Set(await Promise.all(answers)), new Set(["HTTP/1.1 200"]))
  const written = async () => Number((await sh(connection, "cat /tmp/written")).stdout)
  let blocks = -1
  await eventually("it waits", async () => {
    const before = blocks
    blocks = await written()
    return blocks === before
  })
  assert.ok(blocks < 100, `only what fits into the windows and pipes of one stream was written: ${blocks * 64} KiB`)
  unread.cancel()
})
