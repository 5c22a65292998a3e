import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { after, test } from "node:test"
import { freePorts } from "../fixtures/free-ports.ts"
import { startTestServer } from "../test-server.ts"
import { openCommandLine } from "./program.ts"

const [proxyPort = 0, filesPort = 0] = await freePorts(2)
/** The files address as people reach it is a proxy that can drop connections. */
const server = await startTestServer({ "files-port": String(filesPort), "files-url": `http://localhost:${proxyPort}` })
after(() => server[Symbol.asyncDispose]())
const ann = await server.person("ann")
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())
const env = { QUAYSIDE_SERVER: server.quayside.baseUrl, QUAYSIDE_TOKEN: ann.authorization.slice("Bearer ".length) }

let bytes = 0
/** Drops the connection whenever so many bytes have passed. */
let dropAfter = Number.POSITIVE_INFINITY
let onDrop = () => {}
const proxy = createServer((socket: Socket) => {
  const upstream = connect(filesPort, "127.0.0.1")
  const drop = () => [socket, upstream].forEach((each) => void each.destroy())
  for (const each of [socket, upstream]) each.on("error", drop).on("close", drop)
  for (const [from, to] of [
    [socket, upstream],
    [upstream, socket],
  ] as const)
    from.on("data", (chunk) => {
      bytes += chunk.length
      to.write(chunk)
      if (bytes < dropAfter) return
      bytes = 0
      onDrop()
      drop()
    })
})
proxy.listen(proxyPort)
await once(proxy, "listening")
after(() => proxy.close())

const content = randomBytes(40 * 2 ** 20)
const sha256 = (data: Buffer) => createHash("sha256").update(data).digest("hex")

test("an upload and a download over connections that break arrive whole", async () => {
  await writeFile(join(cli.directory, "large.bin"), content)
  await ann.client.createData({ body: { Name: "Large" } })
  let drops = 0
  onDrop = () => (drops += 1)
  dropAfter = 12 * 2 ** 20
  const pushed = await cli.run(["data", "push", join(cli.directory, "large.bin"), "Large"], { env })
  assert.equal(pushed.code, 0, pushed.stderr)
  assert.ok(drops >= 2, `${drops} drops`)
  const pulled = await cli.run(["data", "pull", "Large", join(cli.directory, "back")], { env })
  assert.equal(pulled.code, 0, pulled.stderr)
  assert.equal(sha256(await readFile(join(cli.directory, "back/large.bin"))), sha256(content))
  assert.deepEqual(await readdir(join(cli.directory, "back")), ["large.bin"], "no unfinished file is left")
})

test("an upload that was interrupted goes on where it stopped", async () => {
  const file = join(cli.directory, "next.bin")
  await writeFile(file, content)
  dropAfter = Number.POSITIVE_INFINITY
  bytes = 0
  const controller = new AbortController()
  const watch = setInterval(() => bytes > 20 * 2 ** 20 && controller.abort(), 1)
  const first = await cli.run(["data", "push", file, "Large"], { env, signal: controller.signal })
  clearInterval(watch)
  assert.equal(first.code, 130, first.stdout)
  bytes = 0
  assert.equal((await cli.run(["data", "push", file, "Large"], { env })).code, 0)
  assert.ok(bytes < 30 * 2 ** 20, `${bytes} bytes were sent again`)
  const pulled = await cli.run(["data", "pull", "Large:next.bin", join(cli.directory, "back")], { env })
  assert.equal(pulled.code, 0, pulled.stderr)
  assert.equal(sha256(await readFile(join(cli.directory, "back/next.bin"))), sha256(content))
})
