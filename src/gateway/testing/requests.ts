import { once } from "node:events"
import { type ClientRequest, type IncomingMessage, request } from "node:http"
import { createServer, type Socket } from "node:net"
import { GatewayFixture, keyA } from "./gateway-fixture.ts"

const ann = { authorization: "Bearer ann" }

/** A request below `/run/1` whose answer the caller reads itself. */
export function openRequest(
  fixture: GatewayFixture,
  path: string,
  options: { method?: string; headers?: Record<string, string> } = {},
): ClientRequest {
  const { method = "GET", headers } = options
  return request({
    host: "127.0.0.1",
    port: fixture.port,
    path: `/run/1${path}`,
    method,
    agent: false,
    headers: { host: fixture.apps, ...ann, ...headers },
  })
}

export async function responseOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
  return answer
}

/** A gateway before a program that answers each connection by hand. */
export async function startRawProgram(reply: (socket: Socket, request: string) => void) {
  const stack = new AsyncDisposableStack()
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => {})
    socket.on("close", () => sockets.delete(socket))
    socket.on("data", (chunk) => reply(socket, chunk.toString("latin1")))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  stack.defer(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(() => resolve()))
  })
  const fixture = stack.use(await GatewayFixture.open())
  const address = server.address() as { port: number }
  fixture.runs.targets.set(keyA, { ...fixture.target, address: { host: "127.0.0.1", port: address.port } })
  return { fixture, sockets, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}
