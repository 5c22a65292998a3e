import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { connect, createServer, type Socket } from "node:net"
import { join } from "node:path"
import { after, test } from "node:test"
import { basicAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { startServerProcess } from "../server-process.ts"
import { openCommandLine } from "./program.ts"

const server = await startServerProcess()
after(() => server[Symbol.asyncDispose]())
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())

/**
 * Passes on pieces of at most 64 KiB after 10 ms and more, at less than 4 MiB/s in each direction.
 */
const slow = createServer((socket: Socket) => {
  const upstream = connect(Number(new URL(server.baseUrl).port), "127.0.0.1")
  for (const [from, to] of [
    [socket, upstream],
    [upstream, socket],
  ] as const) {
    from.on("error", () => to.destroy()).on("close", () => to.end())
    from.on("data", (chunk: Buffer) => {
      from.pause()
      setTimeout(() => to.write(chunk) && from.resume(), 10 + chunk.length / 5_000)
    })
    to.on("drain", () => from.resume())
  }
})
slow.listen(0, "127.0.0.1")
await once(slow, "listening")
after(() => slow.close())

const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "interrupts" } })
const { ID: ImageID } = await admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })
const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "Fit", Type: "http", ImageID } })
assert.equal((await admin.startRun({ body: { ProjectID } })).State, "ready")
const env = { QUAYSIDE_SERVER: server.baseUrl, QUAYSIDE_TOKEN: Token }
const slowEnv = { ...env, QUAYSIDE_SERVER: `http://127.0.0.1:${(slow.address() as { port: number }).port}` }

async function inRun(script: string): Promise<string> {
  const { code, stdout, stderr } = await cli.run(["exec", "Fit", "--", "sh", "-c", script], { env })
  assert.equal(code, 0, stderr)
  return stdout
}

/** The commands of all processes in the container, but for those that look. */
async function commands(): Promise<string[]> {
  const listed = await inRun(`for each in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $each 2> /dev/null; echo; done`)
  return listed.split("\n").filter((line) => line.trim() !== "" && !line.includes("/proc/[0-9]"))
}

await inRun("mkdir -p /tmp/in && head -c 40000000 /dev/urandom > /tmp/large")
const source = join(cli.directory, "large here")
await writeFile(source, randomBytes(40_000_000))
const folder = join(cli.directory, "folder")
await mkdir(folder)
await writeFile(join(folder, "large"), await readFile(source))
const target = join(cli.directory, "target")
await mkdir(target)
const before = await commands()

for (const [what, words, program] of [
  ["a program", ["exec", "Fit", "--", "sh", "-c", "echo begun; sleep 4321; sleep 4321"], "sleep 4321"],
  ["the copy of a file into a run", ["cp", source, "Fit:/tmp/in"], "tar -x"],
  ["the copy of a folder into a run", ["cp", folder, "Fit:/tmp/in"], "tar -x"],
  ["a copy out of a run", ["cp", "Fit:/tmp/large", target], "tar -c"],
  ["output that is followed", ["logs", "-f", "Fit"], undefined],
] as const) {
  test(`Ctrl-C during ${what} leaves no process in the container`, async () => {
    const ctrlC = new AbortController()
    const printed = Promise.withResolvers<void>()
    const ended = cli.spawn(words, { env: slowEnv, signal: ctrlC.signal, onOutput: () => printed.resolve() })
    if (program === undefined) await printed.promise
    else await eventually("it runs", async () => (await commands()).some((line) => line.startsWith(program)))
    ctrlC.abort()
    const { code, stderr } = await ended
    assert.equal(code, 130, stderr)
    await eventually("no process of it is left", async () => (await commands()).join("\n") === before.join("\n"))
    assert.deepEqual(await readdir(target), [])
  })
}

test("programs, copies and ports work through a proxy that delays and throttles", async () => {
  const ok = async (...words: string[]) => {
    const outcome = await cli.run(words, { env: slowEnv })
    assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`)
    return outcome
  }
  const content = randomBytes(3_000_001)
  await writeFile(join(cli.directory, "data.bin"), content)
  const copies = ok("cp", join(cli.directory, "data.bin"), "Fit:/tmp/in").then(() => ok("cp", "Fit:/tmp/in/data.bin", target))
  const echoes = [1, 2, 3].map((n) => ok("exec", "Fit", "--", "echo", String(n)))
  assert.deepEqual(
    (await Promise.all(echoes)).map(({ stdout }) => stdout),
    ["1\n", "2\n", "3\n"],
  )
  await copies
  assert.ok(content.equals(await readFile(join(target, "data.bin"))))
})
