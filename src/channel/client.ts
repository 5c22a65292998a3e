import { bounds } from "#contract"
import type { ChannelStream, JsonObject } from "./channel-stream.ts"
import { allocateFrame, releaseFrame } from "./frame-pool.ts"
import { protocolName } from "./frames.ts"
import { receiveConnection } from "./listen.ts"
import { Multiplexer, type Transport } from "./multiplexer.ts"
import { StreamError } from "./stream-error.ts"

/** A browser's `WebSocket`, or one of the package `ws`. */
export interface WebSocketLike {
  binaryType: string
  readonly bufferedAmount: number
  readonly readyState: number
  readonly protocol: string
  /** `sent` is called when the data is passed on, by `ws` alone. */
  send(data: Uint8Array<ArrayBuffer>, sent: (error?: Error | null) => void): void
  close(code?: number, reason?: string): void
  addEventListener(type: "open" | "error", listener: () => void): void
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void
}

/** The subprotocols to open the WebSocket with. */
export const controlProtocols = [protocolName]

const drainPollMs = 5
const { unsentBytes, wideWindowBytes } = bounds.control

/**
 * The client's end of a control connection on a WebSocket that is open or opens. Rejects with a
 * `StreamError` if it does not open.
 */
export function connectControl(socket: WebSocketLike): Promise<Multiplexer> {
  // `ws` then passes on the memory that it read; as an `ArrayBuffer`, every message is a copy.
  if (socket.binaryType !== "nodebuffer") socket.binaryType = "arraybuffer"
  const transport = new ClientTransport(socket, () => multiplexer.resume())
  const onOpen = (stream: ChannelStream, request: JsonObject) => receiveConnection(multiplexer, stream, request)
  const multiplexer = new Multiplexer({ transport, side: "client", onOpen })
  return new Promise((resolve, reject) => {
    const opened = () => {
      if (socket.protocol === protocolName) return resolve(multiplexer)
      multiplexer.close(1000, "")
      reject(new StreamError("protocol_error", `The server speaks another protocol than ${protocolName}`))
    }
    socket.addEventListener("open", opened)
    socket.addEventListener("error", () => {})
    socket.addEventListener("message", ({ data }) => {
      if (data instanceof Uint8Array) multiplexer.receive(data)
      else if (data instanceof ArrayBuffer) multiplexer.receive(new Uint8Array(data))
    })
    socket.addEventListener("close", ({ code, reason }) => {
      multiplexer.handleTransportClose(reason === "" ? `The control connection was closed (status ${code})` : reason)
      void multiplexer.closed.then(reject)
    })
    if (socket.readyState === 1) opened()
  })
}

/**
 * Waits while too much is unsent. A browser does not tell when it has sent something, so the amount
 * is polled there.
 */
class ClientTransport implements Transport {
  readonly #socket: WebSocketLike
  readonly #resume: () => void
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(socket: WebSocketLike, resume: () => void) {
    this.#socket = socket
    this.#resume = resume
  }

  get isCongested(): boolean {
    const isCongested = this.#socket.bufferedAmount > unsentBytes.value
    if (isCongested) this.#timer ??= setTimeout(() => this.#continue(), drainPollMs)
    return isCongested
  }

  allocate(bytes: number): Uint8Array {
    return allocateFrame(bytes)
  }

  send(frame: Uint8Array): void {
    if (this.#socket.readyState !== 1) return
    this.#socket.send(frame as Uint8Array<ArrayBuffer>, (error) => {
      if (!error) releaseFrame(frame)
      if (this.#timer !== undefined && this.#socket.bufferedAmount <= unsentBytes.value / 2) this.#continue()
    })
  }

  close(status: number, reason: string): void {
    this.#socket.close(status, reason)
  }

  #continue(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#resume()
  }
}

/** A terminal's size, in characters. */
export interface TerminalSize {
  columns: number
  rows: number
}

export interface ProcessOptions {
  /** Absent for a shell: the run's own. */
  command?: readonly string[]
  env?: Readonly<Record<string, string>>
  workDir?: string
  /** Gives the program a terminal; its two outputs are then one. A shell always has one. */
  terminal?: TerminalSize
  /** The shell to attach to again; see `ControlProcess.session`. */
  session?: string
}

/** The parts of a program's stream. */
export const outputPart = { stdout: 1, stderr: 2 } as const

export interface ExitStatus {
  exitCode: number
}

/** A program or shell in a run. */
export class ControlProcess {
  readonly stream: ChannelStream

  constructor(stream: ChannelStream) {
    this.stream = stream
  }

  /**
   * Resolves when the program runs. `session` is the ID of a shell, to attach to it again after the
   * connection was lost. Rejects with a `StreamError`.
   */
  get started(): Promise<{ session?: string }> {
    return this.stream.accepted as Promise<{ session?: string }>
  }

  /** Resolves when the program has ended and its output was received. */
  get exited(): Promise<ExitStatus> {
    return this.stream.done as Promise<JsonObject> as Promise<ExitStatus & JsonObject>
  }

  /** Its output; each chunk's `part` is one of `outputPart`. Ends with the program. */
  get output(): AsyncIterable<{ part: number; data: Uint8Array }> {
    return this.stream
  }

  /** Resolves when the input is sent. */
  write(data: Uint8Array): Promise<void> {
    return this.stream.write(data)
  }

  /** Ends the program's input. */
  end(): void {
    this.stream.end()
  }

  resize({ columns, rows }: TerminalSize): void {
    this.stream.sendMessage({ resize: { columns, rows } })
  }

  /** Sends a signal, such as `SIGINT`, to the program's process group. */
  kill(signal: string): void {
    this.stream.sendMessage({ signal })
  }

  /** Ends the program and all its processes. */
  cancel(): void {
    this.stream.fail("cancelled", "Cancelled by the client")
  }
}

/** Runs a program. */
export function openExec(connection: Multiplexer, options: ProcessOptions & { command: readonly string[] }): ControlProcess {
  return new ControlProcess(connection.open("exec", { ...options }))
}

/** Opens the run's login shell, or attaches to one. */
export function openShell(connection: Multiplexer, options: ProcessOptions = {}): ControlProcess {
  return new ControlProcess(connection.open("shell", { ...options }))
}

/**
 * Connects to a TCP port of the run. `write` and `end` send to it, `read` receives; `accepted`
 * resolves when the program accepted the connection.
 */
export function openForward(connection: Multiplexer, port: number): ChannelStream {
  return openWide(connection, "forward", { port })
}

/**
 * Copies files as a tar archive. `out`: the archive of a path is read. `in`: an archive is written,
 * then ended, and unpacked below a directory; `done` resolves when that is complete.
 */
export function openCopy(connection: Multiplexer, direction: "in" | "out", path: string): ChannelStream {
  return openWide(connection, "copy", { direction, path })
}

/**
 * Copies the bytes of one file from an offset on. `out`: they are read. `in`: they are written,
 * then ended, at the same place of a file in the run, which is made if it is missing; the offset is
 * a multiple of `copyBlockBytes`.
 */
export function openFileCopy(connection: Multiplexer, direction: "in" | "out", { path, offset }: { path: string; offset: number }) {
  return openWide(connection, "copy", { direction, path, offset })
}

/** A stream of bulk data, which is not slowed by the time that credit needs to arrive. */
function openWide(connection: Multiplexer, kind: string, options: JsonObject): ChannelStream {
  const stream = connection.open(kind, options)
  stream.widenWindow(wideWindowBytes.value)
  return stream
}
