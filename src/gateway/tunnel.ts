import type { Duplex } from "node:stream"
import type { Call, Upgrade } from "./call.ts"
import type { Core } from "./core.ts"
import type { Opening } from "./openings.ts"
import type { Passage } from "./passage.ts"
import { answerHeaders } from "./response-headers.ts"
import { type AnswerHead, BadAnswer } from "./upstream/answer-head.ts"
import type { AnswerHandler, Connection } from "./upstream/connection.ts"

const lingerFor = 60_000

export interface TunnelOptions {
  call: Call & { upgrade: Upgrade }
  passage: Passage
  connection: Connection
  /** The program's 101. */
  head: AnswerHead
  renewal: string | undefined
}

/**
 * Joins client and program byte by byte after a 101, until either ends. Throws `BadAnswer` when the
 * 101 is not what was asked for.
 */
export function openTunnel(core: Core, options: TunnelOptions): void {
  const { call, connection, passage } = options
  const head = switchingHead(core, options)
  const { socket } = call.upgrade
  call.response.detachSocket(socket as never)
  const tunnel = new Tunnel({ core, socket, connection, passage })
  connection.handOver(tunnel)
  tunnel.start(head, call.upgrade.takeEarly())
}

/** Keeps no more than it needs: there may be thousands that say nothing. */
class Tunnel implements AnswerHandler, Opening {
  readonly #socket: Duplex
  readonly #connection: Connection
  readonly #core: Core
  readonly #run: number
  readonly #close: () => void
  waitingSince: number | undefined

  constructor({ core, socket, connection, passage }: { core: Core; socket: Duplex; connection: Connection; passage: Passage }) {
    this.#core = core
    this.#socket = socket
    this.#connection = connection
    this.#run = passage.target.id
    this.#close = core.openings.add(passage.visitor, passage.target, this)
  }

  start(head: string, early: Buffer): void {
    this.#socket.write(head, "latin1")
    if (early.length > 0) this.#connection.write(early)
    this.#socket.on("data", (chunk: Buffer) => this.#fromClient(chunk))
    this.#socket.on("drain", () => {
      this.waitingSince = undefined
      this.#connection.resume()
    })
    this.#socket.on("end", () => this.#endUpstream())
    this.#socket.on("close", () => this.#gone())
  }

  cut(): void {
    this.#socket.destroy()
    this.#gone()
  }

  onHead(): void {}

  onData(chunk: Buffer): void {
    this.#core.activity.note(this.#run)
    if (this.#socket.write(Buffer.from(chunk))) return
    this.waitingSince ??= this.#core.clock.now()
    this.#connection.pause()
  }

  onPause(): void {}

  onDrain(): void {
    this.#socket.resume()
  }

  /** What the program sent last still reaches the client. */
  onEnd(): void {
    this.waitingSince ??= this.#core.clock.now()
    this.#socket.end(() => this.#socket.destroy())
  }

  onFail(): void {
    this.#socket.destroy()
  }

  #fromClient(chunk: Buffer): void {
    this.#core.activity.note(this.#run)
    if (!this.#connection.write(chunk)) this.#socket.pause()
  }

  /** A program may have more to say to a client that says no more, but not for ever. */
  #endUpstream(): void {
    this.#connection.end()
    const late = setTimeout(() => this.cut(), lingerFor).unref()
    this.#socket.once("close", () => clearTimeout(late))
  }

  #gone(): void {
    this.#close()
    this.#connection.destroy()
  }
}

/** Whether an `Upgrade` header names a protocol. */
export function namesProtocol(upgrade: string, protocol: string): boolean {
  const names = upgrade.toLowerCase().split(",")
  return names.some((name) => name.trim() === protocol.toLowerCase())
}

function switchingHead(core: Core, { call, passage, head, renewal }: TunnelOptions): string {
  const { host = "", upgrade = "" } = call.request.headers
  const at = head.names.indexOf("upgrade")
  const protocol = head.headers[2 * at + 1] ?? ""
  if (at < 0 || !namesProtocol(upgrade, protocol)) throw new BadAnswer("a change to a protocol that nobody asked for")
  const { trustworthy } = core.addresses
  const headers = answerHeaders(head, { passage, host, trustworthy, isBrowser: true, hasTrailers: false, renewal })
  let text = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n`
  for (let i = 0; i < headers.length; i += 2) {
    text += `${headers[i]}: ${headers[i + 1]}\r\n`
  }
  return `${text}\r\n`
}
