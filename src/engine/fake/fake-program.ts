import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { WebSocketServer } from "ws"
import { http } from "#http"
import type { Behaviour } from "./behaviour.ts"
import type { StoredSpec } from "./fake-container.ts"

/** A fake run's program, which listens on a loopback port. */
export interface FakeProgram {
  port: number
  close(): Promise<void>
}

export interface FakeProgramOptions {
  spec: StoredSpec
  behaviour: Behaviour
  log(stream: "stdout" | "stderr", text: string): void
  exit(code: number): void
}

/**
 * Starts a program with endpoints for tests. A leading `/run/<ID>` is ignored, so it works with and
 * without a stripped prefix.
 *
 * `/echo` returns the request as JSON, `/env` the environment, `/status/<code>` that status,
 * `/bytes/<n>` that many bytes. `/exit/<code>` ends the program, `/log/<text>` prints a line,
 * `/cookie` sets one, `/redirect/<path>` redirects to `/<path>`. `/stream` never ends, and `/hang`
 * never answers. Anything else is a page with status 200 (`/api`, `/api/status` and `/api/kernels`
 * in Jupyter's format). A WebSocket echoes; one at `…/websockify` greets like a VNC server.
 */
export async function startFakeProgram(options: FakeProgramOptions): Promise<FakeProgram> {
  const server = http.createServer((request, response) => answer(request, response, options))
  const sockets = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    sockets.add(socket)
    socket.on("close", () => sockets.delete(socket))
  })
  if (options.behaviour.answers === undefined) acceptWebSockets(server)
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve))
  const address = server.address()
  return {
    port: typeof address === "object" && address ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

function acceptWebSockets(server: Server): void {
  const webSockets = new WebSocketServer({ noServer: true, handleProtocols: (offered) => offered.values().next().value ?? false })
  server.on("upgrade", (request, socket, head) => {
    webSockets.handleUpgrade(request, socket, head, (connection) => {
      connection.on("error", () => connection.terminate())
      if (pathOf(request).endsWith("/websockify")) connection.send(Buffer.from("RFB 003.008\n"))
      else connection.on("message", (data, isBinary) => connection.send(data, { binary: isBinary }))
    })
  })
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? "/").replace(/\?.*$/s, "").replace(/^\/run\/[^/]+/, "") || "/"
}

function answer(request: IncomingMessage, response: ServerResponse, options: FakeProgramOptions): void {
  const { answers } = options.behaviour
  if (answers === "nothing") return
  if (answers === "500") return void response.writeHead(500).end("unhealthy\n")
  const [, verb = "", argument = ""] = pathOf(request).split("/")
  const handler = Object.hasOwn(handlers, verb) ? handlers[verb] : undefined
  if (handler) handler({ request, response, options, argument: decodeURIComponent(argument) })
  else
    response
      .writeHead(200, { "content-type": "text/html; charset=utf-8" })
      .end(`<!doctype html><title>fake</title><p>run ${options.spec.run}\n`)
}

interface ProgramRequest {
  request: IncomingMessage
  response: ServerResponse
  options: FakeProgramOptions
  argument: string
}

const handlers: Record<string, (call: ProgramRequest) => void> = {
  echo: (call) => {
    const chunks: Buffer[] = []
    call.request.on("data", (chunk: Buffer) => chunks.push(chunk))
    call.request.on("end", () => {
      const { method, url, headers } = call.request
      sendJson(call, { method, url, headers, body: Buffer.concat(chunks).toString() })
    })
  },
  env: (call) => sendJson(call, call.options.spec.env),
  api: (call) => sendJson(call, jupyterAnswer(call)),
  healthz: (call) => sendJson(call, { status: "alive", lastHeartbeat: Date.now() }),
  status: ({ response, argument }) => response.writeHead(Number(argument) || 400).end(),
  bytes: ({ response, argument }) => response.end(Buffer.alloc(Number(argument) || 0, "x")),
  exit: ({ response, options, argument }) => response.end("bye\n", () => options.exit(Number(argument) || 0)),
  log: ({ response, options, argument }) => {
    options.log("stdout", argument)
    response.end("logged\n")
  },
  cookie: ({ response }) => response.writeHead(200, { "set-cookie": "fake=1; Path=/" }).end("ok\n"),
  redirect: ({ response, argument }) => response.writeHead(302, { location: `/${argument}` }).end(),
  stream: ({ response }) => {
    const timer = setInterval(() => response.write("tick\n"), 50)
    response.on("close", () => clearInterval(timer))
  },
  hang: () => {},
}

function jupyterAnswer({ argument, options }: ProgramRequest): unknown {
  const isComputing = options.behaviour.name === "computing"
  if (argument === "status") return { connections: 0, kernels: isComputing ? 1 : 0, last_activity: new Date().toISOString() }
  if (argument === "kernels") return isComputing ? [{ id: "kernel", name: "python3", execution_state: "busy" }] : []
  return { version: "0.0.0" }
}

function sendJson({ response }: ProgramRequest, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value))
}
