// A run as one's own machine against the engine's own tools: the time from a key press to its echo
// against `docker exec` with a terminal; 1 GiB through a forwarded port against the container's
// address; and `quayside cp` of 1 GiB and of 20,000 small files, in both directions, against
// `docker cp` and `tar` through `docker exec`. Both sides alternate. Usage: control.ts [ROUNDS]
import { execFile, execFileSync } from "node:child_process"
import { randomBytes, randomUUID } from "node:crypto"
import { once } from "node:events"
import { mkdir, mkdtemp, open, rm, writeFile } from "node:fs/promises"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import Docker from "dockerode"
import { openExec, openForward } from "#channel"
import { basicAuth, bearerAuth, createClient } from "#client"
import { connectTo } from "../test/control/control-client.ts"
import { startServerProcess } from "../test/server-process.ts"
import { median } from "./tools.ts"

const rounds = Number(process.argv[2] ?? 3)
const keys = 500
const largeBytes = 2 ** 30
const smallFiles = 20_000
const image = "quayside/python-app:latest"
const run = promisify(execFile)
const print = (line: string) => process.stdout.write(`${line}\n`)

const directory = await mkdtemp(join(tmpdir(), "quayside-bench-"))
await using server = await startServerProcess({ QUAYSIDE_LOG_LEVEL: "error" })
const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "bench" } })
const { ID: ImageID } = await admin.createImage({ body: { Name: "app", Image: image } })
const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "bench", Type: "http", ImageID } })
const started = await admin.startRun({ body: { ProjectID } })
using connection = await connectTo(started.ControlURL, bearerAuth(Token))

const name = `quayside-bench-${randomUUID()}`
await mkdir(join(directory, "data"), { mode: 0o777 })
const mounted = ["--volume", `${join(directory, "data")}:/data`, "--user", "1000:1000"]
execFileSync("docker", ["run", "--detach", "--name", name, "--init", ...mounted, image], { stdio: "ignore" })
execFileSync("chmod", ["777", join(directory, "data")])
const container = new Docker().getContainer(name)
try {
  await measureEcho()
  await measureForward()
  await measureCopies()
} finally {
  execFileSync("docker", ["rm", "--force", name], { stdio: "ignore" })
  await admin.stopRun({ query: { ID: started.ID } })
  await rm(directory, { recursive: true })
}

/** `cat` in a terminal: the terminal returns each key at once. */
async function measureEcho(): Promise<void> {
  const command = ["cat"]
  const shell = openExec(connection, { command, terminal: { columns: 80, rows: 24 } })
  await shell.started
  const exec = await container.exec({ Cmd: command, Tty: true, AttachStdin: true, AttachStdout: true })
  const stream = await exec.start({ hijack: true, stdin: true, Tty: true })
  const times: Record<"quayside" | "docker", number[]> = { quayside: [], docker: [] }
  for (let i = -20; i < keys; i += 1) {
    let startedAt = performance.now()
    await shell.write(Uint8Array.of(0x61))
    await shell.stream.read()
    if (i >= 0) times.quayside.push(performance.now() - startedAt)
    startedAt = performance.now()
    stream.write("a")
    await once(stream, "data")
    if (i >= 0) times.docker.push(performance.now() - startedAt)
  }
  stream.destroy()
  shell.kill("SIGKILL")
  const part = (all: number[], share: number) => all.toSorted((a, b) => a - b)[Math.floor(all.length * share)] ?? Number.NaN
  const more = (share: number) => part(times.quayside, share) - part(times.docker, share)
  print(
    `key press to echo: ${median(times.quayside).toFixed(2)} ms, docker exec ${median(times.docker).toFixed(2)} ms; p50 ${more(0.5).toFixed(2)} ms more (needed ≤ 2, aim 1), p99 ${more(0.99).toFixed(2)} ms more (needed ≤ 10)`,
  )
}

async function measureForward(): Promise<void> {
  const sender = `import socket
s = socket.create_server(("0.0.0.0", 9000))
while True:
    c, _ = s.accept()
    b = bytes(1 << 20)
    for _ in range(${largeBytes >> 20}):
        c.sendall(b)
    c.close()`
  const inRun = openExec(connection, { command: ["python3", "-c", sender] })
  await inRun.started
  execFileSync("docker", ["exec", "--detach", name, "python3", "-c", sender])
  const { NetworkSettings } = await container.inspect()
  const host = Object.values(NetworkSettings.Networks)[0]?.IPAddress as string
  await sleep(1_000)
  const ratios: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    let startedAt = performance.now()
    let received = 0
    for await (const { data } of openForward(connection, 9000)) received += data.byteLength
    const forwardedMs = performance.now() - startedAt
    if (received !== largeBytes) throw new Error(`received ${received} bytes of ${largeBytes}`)
    startedAt = performance.now()
    for await (const _ of connect(9000, host)) {
      // Only the time counts.
    }
    ratios.push((performance.now() - startedAt) / forwardedMs)
  }
  inRun.kill("SIGKILL")
  print(`forwarded TCP, 1 GiB: ${median(ratios).toFixed(2)} of the rate directly to a container (needed ≥ 0.4, aim 0.6)`)
}

async function measureCopies(): Promise<void> {
  const large = join(directory, "large")
  const file = await open(large, "w")
  for (let written = 0; written < largeBytes; written += 2 ** 24) await file.write(randomBytes(2 ** 24))
  await file.close()
  const small = join(directory, "small")
  for (let i = 0; i < smallFiles; i += 1) {
    if (i % 1_000 === 0) await mkdir(join(small, String(i / 1_000)), { recursive: true })
    await writeFile(join(small, String(Math.floor(i / 1_000)), `${i}.txt`), "x".repeat(100))
  }
  const program = resolve(import.meta.dirname, "../bin/quayside.js")
  const env = { PATH: process.env.PATH, HOME: directory, QUAYSIDE_SERVER: server.baseUrl, QUAYSIDE_TOKEN: Token }
  const copy = (from: string, to: string) => run(process.execPath, [program, "cp", "--force", from, to], { env })
  const shell = (command: string) => run("sh", ["-c", command])
  const out = join(directory, "out")
  const ways = {
    "1 GiB into a run, against docker cp": {
      own: () => copy(large, `${started.ID}:/work/code`),
      other: () => run("docker", ["cp", large, `${name}:/data`]),
      needed: "≥ 0.6, aim 0.9",
    },
    "1 GiB out of it, against docker cp": {
      own: () => copy(`${started.ID}:/work/code/large`, out),
      other: () => run("docker", ["cp", `${name}:/data/large`, out]),
      needed: "≥ 0.6, aim 0.9",
    },
    [`${smallFiles} small files into a run, against tar through docker exec`]: {
      own: () => copy(small, `${started.ID}:/work/code`),
      other: () => shell(`tar -C ${directory} -c small | docker exec -i ${name} tar -C /data -x`),
      needed: "≥ 0.7, aim 1",
    },
    [`${smallFiles} small files out of it, against tar through docker exec`]: {
      own: () => copy(`${started.ID}:/work/code/small`, out),
      other: () => shell(`docker exec ${name} tar -C /data -c small | tar -C ${out} -x`),
      needed: "≥ 0.7, aim 1",
    },
  }
  for (const [what, { own, other, needed }] of Object.entries(ways)) {
    const ratios: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const ownMs = await timeOf(out, own)
      ratios.push((await timeOf(out, other)) / ownMs)
    }
    print(`copy of ${what}: ${median(ratios).toFixed(2)} of its rate (needed ${needed})`)
  }
}

/** In milliseconds, with an empty directory for copies. */
async function timeOf(out: string, work: () => Promise<unknown>): Promise<number> {
  await rm(out, { recursive: true, force: true })
  await mkdir(out)
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
