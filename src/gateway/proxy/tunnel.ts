import type { Socket } from "node:net"
import { PacedReader, sharedTurnBudget } from "#http"
import type { GatewayContext } from "../context.ts"
import type { GatewayRequest, Upgrade } from "../gateway-request.ts"
import type { Visitor } from "../run-directory.ts"
import type { OpenConnection } from "../sessions/connection-registry.ts"
import type { ResponseHandler, UpstreamConnection } from "../upstream/connection.ts"
import { BadResponseError, type ResponseHead } from "../upstream/response-head.ts"
import { WaitingWrites } from "../upstream/waiting-writes.ts"
import { ClientFrames } from "./client-frames.ts"
import type { ProxyRequest } from "./proxy-request.ts"
import { responseHeaders } from "./response-headers.ts"

const halfOpenTimeoutMs = 60_000

export interface TunnelOptions {
  gatewayRequest: GatewayRequest & { upgrade: Upgrade }
  proxyRequest: ProxyRequest
  connection: UpstreamConnection
  /** The program's 101. */
  head: ResponseHead
  renewal: string | undefined
}

/**
 * Copies bytes between client and program after a 101, until either ends. Throws `BadResponseError`
 * when the 101 names another protocol.
 */
export function openTunnel(context: GatewayContext, options: TunnelOptions): void {
  const { gatewayRequest, connection, proxyRequest } = options
  const head = switchingHead(context, options)
  const { socket } = gatewayRequest.upgrade
  const isWebSocket = includesProtocol(gatewayRequest.request.headers.upgrade ?? "", "websocket")
  const tunnel = new Tunnel({ context, socket, connection, proxyRequest, isWebSocket })
  connection.setHandler(tunnel)
  tunnel.start(head, gatewayRequest.upgrade.takeOver())
}

/** Holds as little memory as possible: thousands of tunnels may be idle. */
class Tunnel implements ResponseHandler, OpenConnection {
  readonly #socket: Socket
  readonly #connection: UpstreamConnection
  readonly #context: GatewayContext
  readonly #run: number
  readonly #visitor: Visitor
  readonly #writes = new WaitingWrites()
  readonly #reader: PacedReader
  readonly #close: () => void
  /** Undefined for other protocols than WebSocket: all bytes of the client count as use. */
  readonly #frames: ClientFrames | undefined
  stalledSince: number | undefined

  constructor({
    context,
    socket,
    connection,
    proxyRequest,
    isWebSocket,
  }: { context: GatewayContext; socket: Socket; connection: UpstreamConnection; proxyRequest: ProxyRequest; isWebSocket: boolean }) {
    this.#context = context
    this.#socket = socket
    this.#connection = connection
    this.#run = proxyRequest.target.id
    this.#visitor = proxyRequest.visitor
    this.#reader = new PacedReader(
      () => socket.resume(),
      sharedTurnBudget,
      () => socket.pause(),
    )
    this.#frames = isWebSocket ? new ClientFrames(proxyRequest.target.webSocketProtocol) : undefined
    this.#close = context.connections.add(proxyRequest.visitor, proxyRequest.target, this)
  }

  start(head: string, early: Buffer): void {
    this.#socket.write(head, "latin1")
    this.#reportUse(early)
    if (early.length > 0) this.#connection.write(early)
    this.#reader.join(this.#visitor.userId)
    this.#socket.on("data", (chunk: Buffer) => this.#fromClient(chunk))
    this.#socket.on("drain", this.#onRoom)
    this.#socket.on("end", () => this.#endUpstream())
    this.#socket.on("close", () => this.#gone())
  }

  abort(): void {
    this.#socket.destroy()
    this.#gone()
  }

  onHead(): void {}

  /** Nobody needs to be there to read a program's output: it is no use. */
  onData(chunk: Buffer): void {
    if (this.#writes.write(this.#socket, Buffer.from(chunk), this.#onRoom)) return
    this.stalledSince ??= this.#context.clock.now()
    this.#connection.pause()
    this.#setWaiting("client", true)
  }

  readonly #onRoom = (): void => {
    this.stalledSince = undefined
    this.#setWaiting("client", false)
    this.#connection.resume()
  }

  #setWaiting(side: "client" | "program", isWaiting: boolean): void {
    this.#context.connections.setWaiting(this.#visitor, this, { side, isWaiting })
  }

  onPause(): void {}

  onDrain(): void {
    this.#setWaiting("program", false)
    this.#reader.resume()
  }

  /** The program's last bytes still reach the client. */
  onEnd(): void {
    this.stalledSince ??= this.#context.clock.now()
    this.#socket.end(() => this.#socket.destroy())
  }

  onError(): void {
    this.#socket.destroy()
  }

  #reportUse(chunk: Buffer): void {
    const { activity } = this.#context
    const isUse = this.#frames?.detectActivity(chunk, activity.isReported(this.#run)) ?? chunk.length > 0
    if (isUse) activity.report(this.#run)
  }

  #fromClient(chunk: Buffer): void {
    this.#reportUse(chunk)
    if (!this.#connection.write(chunk)) {
      this.#reader.pause()
      this.#setWaiting("program", true)
    }
    if (!this.#reader.countRead(this.#visitor.userId, chunk.length)) this.#socket.pause()
  }

  /** A program may continue to send to a client that has ended its side, but not for ever. */
  #endUpstream(): void {
    this.#connection.end()
    const late = setTimeout(() => this.abort(), halfOpenTimeoutMs).unref()
    this.#socket.once("close", () => clearTimeout(late))
  }

  #gone(): void {
    this.#reader.leave()
    this.#close()
    this.#connection.destroy()
  }
}

/** Whether an `Upgrade` header names a protocol. */
export function includesProtocol(upgrade: string, protocol: string): boolean {
  const names = upgrade.toLowerCase().split(",")
  return names.some((name) => name.trim() === protocol.toLowerCase())
}

function switchingHead(context: GatewayContext, { gatewayRequest, proxyRequest, head, renewal }: TunnelOptions): string {
  const { host = "", upgrade = "" } = gatewayRequest.request.headers
  const at = head.names.indexOf("upgrade")
  const protocol = head.headers[2 * at + 1] ?? ""
  if (at < 0 || !includesProtocol(upgrade, protocol)) throw new BadResponseError("a change to a protocol that nobody asked for")
  const { isTrustworthy } = context.urls
  const headers = responseHeaders(head, { proxyRequest, host, isTrustworthy, isBrowser: true, hasTrailers: false, renewal })
  let text = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n`
  for (let i = 0; i < headers.length; i += 2) {
    text += `${headers[i]}: ${headers[i + 1]}\r\n`
  }
  return `${text}\r\n`
}
