import assert from "node:assert/strict"
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"
import { after } from "node:test"
import { basicAuth, createClient } from "#client"
import { startServerProcess } from "../server-process.ts"
import { openCommandLine } from "./program.ts"

/** A proxy to a server that drops its connections once, when enough bytes have passed. */
class BreakingProxy {
  readonly #target: number
  readonly #onBreak: () => void
  readonly #server = createServer((socket) => this.#forward(socket))
  #breakAfter = Number.POSITIVE_INFINITY
  /** The bytes that have passed since the last break. */
  bytes = 0

  constructor(target: number, onBreak: () => void) {
    this.#target = target
    this.#onBreak = onBreak
  }

  async listen(): Promise<number> {
    this.#server.listen(0, "127.0.0.1")
    await once(this.#server, "listening")
    return (this.#server.address() as { port: number }).port
  }

  breakAfter(bytes: number): void {
    this.bytes = 0
    this.#breakAfter = bytes
  }

  close(): void {
    this.#server.close()
  }

  #forward(socket: Socket): void {
    const upstream = connect(this.#target, "127.0.0.1")
    const drop = () => [socket, upstream].forEach((each) => void each.destroy())
    for (const each of [socket, upstream]) each.on("error", drop).on("close", drop)
    for (const [from, to] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      from.on("data", (chunk) => {
        this.bytes += chunk.length
        if (this.bytes >= this.#breakAfter) return drop()
        if (!to.write(chunk)) from.pause()
      })
      to.on("drain", () => from.resume())
    }
    socket.on("close", () => {
      if (this.bytes < this.#breakAfter) return
      this.breakAfter(Number.POSITIVE_INFINITY)
      this.#onBreak()
    })
  }
}

/** A server that is killed and started again in the middle of a copy, and a command line for it. */
export async function openKillableServer() {
  const server = await startServerProcess()
  let restarted = Promise.resolve()
  after(() => restarted.finally(() => server[Symbol.asyncDispose]()))
  const cli = await openCommandLine()
  after(() => cli[Symbol.asyncDispose]())
  let kills = 0
  const proxy = new BreakingProxy(Number(new URL(server.baseUrl).port), () => {
    kills += 1
    restarted = server.kill("SIGKILL").then(() => server.start())
  })
  const port = await proxy.listen()
  after(() => proxy.close())
  const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const { Token } = await admin.createToken({ body: { Name: "copies" } })
  const env = { QUAYSIDE_SERVER: `http://localhost:${port}`, QUAYSIDE_TOKEN: Token }
  const ok = async (...words: string[]) => {
    const outcome = await cli.run(words, { env })
    assert.equal(outcome.code, 0, `${words.join(" ")}: ${outcome.stderr}`)
    return outcome
  }
  return {
    directory: cli.directory,
    /** Runs a command, which must succeed. */
    ok,
    /** Runs a copy whose server is killed when so many bytes have passed. */
    async interrupted(killAt: number, ...words: string[]) {
      const before = kills
      proxy.breakAfter(killAt)
      const outcome = await cli.run(["cp", ...words], { env })
      assert.equal(kills, before + 1, outcome.stderr)
      await restarted
      return outcome
    },
    /** The bytes that have passed since the server was killed. */
    get bytesSinceKill() {
      return proxy.bytes
    },
    async startProject(name: string, image: string, command: string) {
      const { ID: ImageID } = await admin.createImage({ body: { Name: name, Image: image, Port: "8000", Command: command } })
      const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: name, Type: "http", ImageID } })
      const run = await admin.startRun({ body: { ProjectID } })
      assert.equal(run.State, "ready", JSON.stringify(run.Reason))
    },
  }
}

/** The command of an image with Python, at port 8000. */
export const listenByPython = 'sh -c "exec python3 -m http.server 8000"'
