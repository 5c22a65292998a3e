import assert from "node:assert/strict"
import { createServer, type Socket } from "node:net"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { projectTypes } from "#contract"
import { emptyImageInfo, type ImageInfo } from "#engine"
import { silentLogger, systemClock } from "#kit"
import type { RunRow } from "#store"
import { basePath, engineSpecOf, upstreamHeaders, withImagePort } from "./lifecycle/engine-spec.ts"
import { probeIdleMs } from "./limits/activity-probe.ts"
import { projectTypeRules } from "./project-types.ts"
import { probe } from "./readiness/probe.ts"
import { RunsFixture } from "./testing/runs-fixture.ts"

function runOf(fields: Partial<RunRow["spec"]>): RunRow {
  const spec = {
    type: "http",
    image: "i",
    command: null,
    env: {},
    port: null,
    workDir: "/code",
    home: "/home/ann",
    mounts: [],
    secret: "s3cret",
    ...fields,
  }
  return { id: 7, key: "k", projectId: 5, userName: "ann", cpus: 1, memoryMiB: 64, gpuDevices: [], nodes: 1, spec } as unknown as RunRow
}

for (const type of projectTypes) {
  test(`a run of type ${type} becomes ready and is reached with the headers that its program needs`, async () => {
    await using fixture = await RunsFixture.open()
    await using runs = await fixture.runs()
    const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/http", { plan: { type } }))).id)
    assert.equal(run.state, "ready")
    const target = runs.target(run.id)
    assert.equal(target?.prefix, projectTypeRules[type].prefix)
    assert.equal(target?.landing, projectTypeRules[type].landing.replace("{codePath}", "code"))
    assert.equal(fixture.fake.containers.get(run.key)?.spec.port, projectTypeRules[type].port)
  })
}

test("a token is passed by environment, never by arguments, and is sent by the gateway", () => {
  for (const type of ["jupyter", "jupyterlab", "jupyternotebook"] as const) {
    const run = runOf({ type, env: { JUPYTER_TOKEN: "guessed" } })
    const spec = engineSpecOf(run)
    assert.equal(spec.env.JUPYTER_TOKEN, "s3cret")
    assert.ok(!spec.command.join(" ").includes("s3cret"))
    assert.ok(spec.command.includes("--ServerApp.base_url=/run/7/"))
    assert.deepEqual(upstreamHeaders(run), { authorization: "token s3cret" })
  }
  assert.deepEqual(upstreamHeaders(runOf({})), {})
  assert.ok(!JSON.stringify(engineSpecOf(runOf({ type: "vscode" }))).includes("s3cret"))
})

test("placeholders are replaced by the port and the program's base path", () => {
  const command = ["serve", "--port={port}", "--base", "{baseUrl}"]
  assert.deepEqual(engineSpecOf(runOf({ command, port: 99 })).command, ["serve", "--port=99", "--base", "/"])
  assert.deepEqual(engineSpecOf(runOf({ type: "jupyterlab", command })).command, ["serve", "--port=8888", "--base", "/run/7/"])
  assert.equal(basePath(runOf({ type: "jupyter" })), "/run/7/")
})

test("the image's environment overrides the type's and `HOME`", () => {
  const pick = ({ HOME, PORT, OMP_NUM_THREADS }: Record<string, string>) => ({ HOME, PORT, OMP_NUM_THREADS })
  assert.deepEqual(pick(engineSpecOf(runOf({ port: 81 })).env), { HOME: "/home/ann", PORT: "81", OMP_NUM_THREADS: "1" })
  const env = { PORT: "5", HOME: "/x", OMP_NUM_THREADS: "3" }
  assert.deepEqual(pick(engineSpecOf(runOf({ env })).env), env)
})

test("a program that speaks another protocol than its type's is not ready", async () => {
  const chatter = createServer((socket) =>
    socket
      .on("error", () => {})
      .resume()
      .end("SSH-2.0-x\r\n"),
  )
  await new Promise<void>((resolve) => chatter.listen(0, "127.0.0.1", resolve))
  const address = { host: "127.0.0.1", port: (chatter.address() as { port: number }).port }
  const common = { address, base: "/", headers: {}, timeoutMs: 2_000 }
  for (const readiness of [projectTypeRules.http.readiness, projectTypeRules.novnc.readiness]) {
    const result = await probe({ ...common, readiness }, new AbortController().signal)
    assert.equal(result.ready ? "ready" : result.code, "not_answering")
  }
  await new Promise((resolve) => chatter.close(resolve))
  const removed = await probe({ ...common, readiness: projectTypeRules.novnc.readiness }, new AbortController().signal)
  assert.equal(removed.ready ? "ready" : removed.code, "port_not_open")
})

test("a program that switches the protocol instead of answering is probed again and may be computing", { timeout: 60_000 }, async () => {
  const switching = createServer((socket) => {
    socket.on("error", () => {})
    socket.once("data", () => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
  })
  await new Promise<void>((resolve) => switching.listen(0, "127.0.0.1", resolve))
  const address = { host: "127.0.0.1", port: (switching.address() as { port: number }).port }
  const common = { address, base: "/", headers: {}, timeoutMs: 2_000 }
  for (const readiness of [projectTypeRules.http.readiness, projectTypeRules.novnc.readiness]) {
    const result = await probe({ ...common, readiness }, new AbortController().signal)
    assert.equal(result.ready ? "ready" : result.code, "not_answering")
  }
  const ctx = { runCache: { target: () => ({ address }) }, logger: silentLogger, clock: systemClock }
  assert.equal(await probeIdleMs(ctx, runOf({ type: "jupyterlab" })), undefined)
  await new Promise((resolve) => switching.close(resolve))
})

const upgraded = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
for (const [what, begin, endless] of [
  ["interim answers", "", "HTTP/1.1 103 Early Hints\r\n\r\n"],
  ["fields of its head", "HTTP/1.1 200 OK\r\n", "X-Field: text\r\n"],
  ["control frames", upgraded, "\x89\x00"],
] as const) {
  test(`a program that answers with endless ${what} is cut off at once, and may be computing`, { timeout: 60_000 }, async () => {
    const part = Buffer.from(endless.repeat(4_000), "latin1")
    const sockets = new Set<Socket>()
    const flood = createServer((socket) => {
      sockets.add(socket.on("error", () => {}))
      socket.once("data", () => {
        socket.write(begin)
        const send = () => {
          for (let free = true; free && socket.writable; ) free = socket.write(part)
        }
        socket.on("drain", send)
        send()
      })
    })
    await new Promise<void>((resolve) => flood.listen(0, "127.0.0.1", resolve))
    const address = { host: "127.0.0.1", port: (flood.address() as { port: number }).port }
    // The test's own time limit would show that a probe waits for the end.
    const common = { address, base: "/", headers: {}, timeoutMs: 3_600_000 }
    for (const readiness of [projectTypeRules.http.readiness, projectTypeRules.novnc.readiness]) {
      const result = await probe({ ...common, readiness }, new AbortController().signal)
      if (begin !== upgraded || readiness.kind === "websocket") assert.equal(result.ready ? "ready" : result.code, "not_answering")
    }
    const ctx = { runCache: { target: () => ({ address }) }, logger: silentLogger, clock: systemClock }
    assert.equal(await probeIdleMs(ctx, runOf({ type: "jupyterlab" })), undefined)
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => flood.close(resolve))
  })
}

test("a WebSocket is ready if its first message begins as its type's, after any control frame", async () => {
  for (const [frames, isReady] of [
    [["\x82\x0cRFB 003.008\n"], true],
    [["\x89\x02hi\x82\x7e\x00\xc8RFB ", "003"], true],
    [["\x82\x7f\0\0\0\0\0\0\0\x0cRF", "B 003.008\n"], true],
    [["\x01\x02RF"], false],
    [["\x82\x0cHTTP 03.008\n"], false],
  ] as const) {
    const server = createServer((socket) => {
      socket.on("error", () => {})
      socket.once("data", async () => {
        for (const part of [upgraded, ...frames]) {
          socket.write(part, "latin1")
          await turn()
        }
      })
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = { host: "127.0.0.1", port: (server.address() as { port: number }).port }
    const target = { address, base: "/", headers: {}, readiness: projectTypeRules.novnc.readiness, timeoutMs: 10_000 }
    assert.equal((await probe(target, new AbortController().signal)).ready, isReady, JSON.stringify(frames))
    server.close()
  }
})

test("an empty port of type `http` is the image's only exposed TCP port, otherwise the type's default", () => {
  const portWith = (ports: string[], fields: Partial<RunRow["spec"]> = {}) =>
    withImagePort(runOf(fields).spec, { ...emptyImageInfo, ports }).port
  assert.equal(portWith(["8501/tcp"]), 8501)
  assert.equal(portWith(["8501/tcp", "53/udp"]), 8501)
  assert.equal(portWith(["8000/tcp", "9000/tcp"]), null)
  assert.equal(portWith([]), null)
  assert.equal(portWith(["8501/tcp"], { port: 80 }), 80)
  assert.equal(portWith(["8501/tcp"], { type: "jupyterlab" }), null)
})

test("the image's working directory wins over the code directory, unless it is `/`", () => {
  const workDirWith = (workDir: string) => engineSpecOf(runOf({}), { image: { ...emptyImageInfo, workDir } }).workDir
  assert.deepEqual(["/app", "/", ""].map(workDirWith), [undefined, "/code", "/code"])
})

test("Jupyter and VS Code open the code directory; Jupyter's root contains all mounts", () => {
  const at = (target: string) => ({ source: "/users/ann", target, readOnly: false })
  const command = (targets: string[], type: "jupyterlab" | "vscode") =>
    engineSpecOf(runOf({ type, workDir: "/work/code", mounts: targets.map(at) })).command
  const usual = command(["/work/code", "/work/home", "/work/data/x"], "jupyterlab")
  assert.ok(usual.includes("--ServerApp.root_dir=/work"))
  assert.ok(usual.includes("--ServerApp.preferred_dir=/work/code"))
  assert.ok(command(["/work/code", "/data"], "jupyterlab").includes("--ServerApp.root_dir=/work/code"))
  assert.ok(command(["/work/code", "/worker"], "jupyterlab").includes("--ServerApp.root_dir=/work/code"))
  assert.equal(command(["/work/code"], "vscode").at(-1), "/work/code")
})

test("the image's own start follows a search only with an entry point, or if the image exposes the type's port", () => {
  const empty = {
    digest: "",
    registryDigest: "",
    size: 0,
    architecture: "",
    user: "",
    workDir: "",
    ports: [],
    variables: [],
    volumes: [],
    entryPoint: [],
  }
  const image = { ...empty, command: ["serve"] }
  const ownWith = (fields: Partial<ImageInfo>) => {
    const { entryPoint, command } = engineSpecOf(runOf({ type: "jupyterlab" }), { image: { ...image, ...fields } })
    assert.equal(entryPoint?.[0], "/bin/sh")
    return command.slice(1, 1 + Number(command[0]))
  }
  assert.deepEqual(ownWith({}), [])
  assert.deepEqual(ownWith({ ports: ["80/tcp"] }), [])
  assert.deepEqual(ownWith({ ports: ["8888/tcp"] }), ["serve"])
  assert.deepEqual(ownWith({ entryPoint: ["/start", "--"] }), ["/start", "--", "serve"])
  const spec = engineSpecOf(runOf({ type: "jupyterlab", command: ["x"] }), { image: { ...image, entryPoint: ["/start"] } })
  assert.deepEqual([spec.entryPoint, spec.command], [undefined, ["x"]])
})

test("a run on an image with a port and a working directory of its own uses both, also after a restart", async () => {
  await using fixture = await RunsFixture.open()
  const { id, key } = await (async () => {
    await using runs = await fixture.runs()
    const run = await runs.waitUntilSettled((await runs.start(fixture.request("fake/exposes:8501"))).id)
    assert.equal(run.state, "ready")
    return run
  })()
  const spec = fixture.fake.containers.get(key)?.spec
  assert.deepEqual([spec?.port, spec?.workDir, spec?.env.PORT], [8501, undefined, "8501"])
  await using restarted = await fixture.runs()
  assert.equal((await restarted.waitUntilSettled(id)).spec.port, 8501)
})
