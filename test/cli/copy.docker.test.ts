import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { after, test } from "node:test"
import { basicAuth, createClient } from "#client"
import { buildImage } from "../fixtures/docker/built-image.ts"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { startServerProcess } from "../server-process.ts"
import { openCommandLine } from "./program.ts"

const server = await startServerProcess()
let restarted = Promise.resolve()
after(() => restarted.finally(() => server[Symbol.asyncDispose]()))
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())
const serverPort = Number(new URL(server.baseUrl).port)

let bytes = 0
/** Kills the server and starts it again when so many bytes have passed. */
let killAfter = Number.POSITIVE_INFINITY
let kills = 0
const proxy = createServer((socket: Socket) => {
  const upstream = connect(serverPort, "127.0.0.1")
  const drop = () => [socket, upstream].forEach((each) => void each.destroy())
  for (const each of [socket, upstream]) each.on("error", drop).on("close", drop)
  for (const [from, to] of [
    [socket, upstream],
    [upstream, socket],
  ] as const) {
    from.on("data", (chunk) => {
      bytes += chunk.length
      if (bytes >= killAfter) return drop()
      if (!to.write(chunk)) from.pause()
    })
    to.on("drain", () => from.resume())
  }
  socket.on("close", () => {
    if (bytes < killAfter) return
    bytes = 0
    killAfter = Number.POSITIVE_INFINITY
    kills += 1
    restarted = server.kill("SIGKILL").then(() => server.start())
  })
})
proxy.listen(0, "127.0.0.1")
await once(proxy, "listening")
after(() => proxy.close())

const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "copies" } })
const env = { QUAYSIDE_SERVER: `http://localhost:${(proxy.address() as { port: number }).port}`, QUAYSIDE_TOKEN: Token }

async function startProject(name: string, image: string, command: string) {
  const { ID: ImageID } = await admin.createImage({ body: { Name: name, Image: image, Port: "8000", Command: command } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: name, Type: "http", ImageID } })
  const run = await admin.startRun({ body: { ProjectID } })
  assert.equal(run.State, "ready", JSON.stringify(run.Reason))
}
async function imageFrom(base: string, change: string): Promise<string> {
  const image = await buildImage(`FROM ${base}\nUSER 0\nRUN ${change}\n`)
  after(() => image[Symbol.asyncDispose]())
  return image.name
}
const listen = 'sh -c "exec python3 -m http.server 8000"'
await startProject("Gnu", "quayside/python-app", listen)
await startProject("Small", await imageFrom(await ensureBusyboxImage(), "ln -s busybox /bin/tar"), "httpd -f -p 8000")
await startProject("Bare", await imageFrom("quayside/python-app", "rm /usr/bin/sha256sum"), listen)

const size = 96 * 2 ** 20 + 12_345
const content = randomBytes(size)
const sha256 = (data: Buffer) => createHash("sha256").update(data).digest("hex")
const source = join(cli.directory, "large file.bin")
const modifiedAt = 1_700_000_000
await writeFile(source, content)
await chmod(source, 0o640)
await utimes(source, modifiedAt, modifiedAt)

async function ok(...words: string[]) {
  const outcome = await cli.run(words, { env })
  assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`)
  return outcome
}

/** Runs a copy whose server is killed when 40 MiB have passed. */
async function killedCopy(...words: string[]) {
  const before = kills
  bytes = 0
  killAfter = 40 * 2 ** 20
  const outcome = await ok("cp", ...words, "--json")
  assert.equal(kills, before + 1)
  assert.equal(outcome.json().bytes, size)
}

for (const name of ["Gnu", "Small"]) {
  test(`a large file is the same after the server was killed in the middle of its copy to ${name}, and back`, async () => {
    await killedCopy(source, `${name}:/tmp`)
    assert.ok(bytes < 70 * 2 ** 20, `the copy went on, and did not begin again: ${bytes} further bytes`)
    const script = `sha256sum < "$0"; stat -c '%a %Y' "$0"; ls -A /tmp`
    const { stdout } = await ok("exec", name, "--", "sh", "-c", script, "/tmp/large file.bin")
    assert.match(stdout, new RegExp(`^${sha256(content)}  -\\n640 ${modifiedAt}\\n`))
    assert.match(stdout, /large file\.bin\n$/)

    const back = join(cli.directory, `back ${name}`)
    await killedCopy(`${name}:/tmp/large file.bin`, back)
    assert.ok(bytes < 70 * 2 ** 20, `the copy went on, and did not begin again: ${bytes} further bytes`)
    assert.deepEqual(await readdir(back), ["large file.bin"])
    const copy = join(back, "large file.bin")
    assert.equal(sha256(await readFile(copy)), sha256(content))
    const { mode, mtimeMs } = await stat(copy)
    assert.deepEqual([mode & 0o777, mtimeMs], [0o640, modifiedAt * 1_000])
  })
}

test("a copy of a folder ends with the connection, and leaves nothing here", async () => {
  await ok("exec", "Gnu", "--", "sh", "-c", "mkdir /tmp/folder && cp '/tmp/large file.bin' /tmp/folder/a")
  const target = join(cli.directory, "folder target")
  await mkdir(target)
  bytes = 0
  killAfter = 40 * 2 ** 20
  const outcome = await cli.run(["cp", "Gnu:/tmp/folder", target], { env })
  assert.equal(outcome.code, 7, outcome.stderr)
  assert.deepEqual(await readdir(target), [])
  await restarted
})

test("a large file whose copy cannot go on is neither here nor in the run", async () => {
  const interrupted = async (...words: string[]) => {
    bytes = 0
    killAfter = 40 * 2 ** 20
    return cli.run(["cp", ...words], { env })
  }
  const sent = await interrupted(source, "Bare:/tmp")
  assert.equal(sent.code, 127)
  assert.match(sent.stderr, /The copy of \/tmp\/large file\.bin cannot be continued: the image has no sha256sum\nCopy it again\.\n$/)
  assert.equal((await ok("exec", "Bare", "--", "find", "/tmp", "-name", "large*")).stdout, "")

  await ok("cp", source, "Bare:/tmp")
  const target = join(cli.directory, "never complete")
  const received = await interrupted("Bare:/tmp/large file.bin", target)
  assert.equal(received.code, 127)
  assert.match(received.stderr, /cannot be continued: the image has no sha256sum\n/)
  assert.deepEqual(await readdir(target), [])
})

test("a program that a run marked to run as its owner loses that mark in a copy", async () => {
  await ok("exec", "Gnu", "--", "sh", "-c", "mkdir /tmp/marked && touch /tmp/marked/program && chmod 6755 /tmp/marked/program")
  const target = join(cli.directory, "marked target")
  await ok("cp", "Gnu:/tmp/marked", target)
  const { mode } = await stat(join(target, "marked/program"))
  assert.equal((mode & 0o7777).toString(8), "755")
})
