import { once } from "node:events"
import type { ClientOptions } from "ws"
import { WebSocket } from "ws"
import { EngineError } from "../../engine.ts"
import type { ExecOutput, TerminalSize } from "../../exec.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { messageOf, toEngineError } from "../client/errors.ts"
import { apiUrl } from "../client/open-stream.ts"
import { containerName } from "../pods/names.ts"
import { OutputQueue } from "./output-queue.ts"

/** The channels of a connection. Source: `v5.channel.k8s.io`, since Kubernetes 1.31. */
const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4, close: 255 } as const
const protocol = "v5.channel.k8s.io"
const handshakeMs = 15_000
const maxFrameBytes = 32 * 2 ** 20

interface ExecStatus {
  status?: string
  message?: string
  details?: { causes?: { reason?: string; message?: string }[] }
}

/** A program in a container, as the API server's WebSocket shows it. */
export class ExecChannel {
  readonly #socket: WebSocket
  readonly #queue = new OutputQueue()
  #wake: (() => void) | undefined
  #ended = false
  readonly #exit = Promise.withResolvers<number>()

  private constructor(socket: WebSocket) {
    this.#socket = socket
    this.#exit.promise.catch(() => {})
    socket.on("message", (data: Buffer) => this.#receive(data))
    socket.on("close", () => {
      this.#end()
      this.#exit.reject(new EngineError("engine_unreachable", "The connection to the program was lost"))
    })
  }

  static async open(
    client: ClusterClient,
    pod: string,
    request: { command: readonly string[]; terminal: boolean; input?: boolean },
  ): Promise<ExecChannel> {
    const { command, terminal, input = true } = request
    const url = apiUrl(client, `/api/v1/namespaces/${client.namespace}/pods/${pod}/exec`, {
      container: containerName,
      stdin: String(input),
      stdout: "true",
      stderr: String(!terminal),
      tty: String(terminal),
    })
    for (const word of command) url.searchParams.append("command", word)
    url.protocol = "wss:"
    const options: ClientOptions = { handshakeTimeout: handshakeMs, maxPayload: maxFrameBytes, perMessageDeflate: false }
    await client.config.applyToHTTPSOptions(options)
    const socket = new WebSocket(url, [protocol], options)
    socket.on("error", () => {})
    const refused = Promise.withResolvers<never>()
    refused.promise.catch(() => {})
    socket.once("unexpected-response", (_request, response) => {
      let body = ""
      response.on("data", (part) => (body = (body + part).slice(0, 10_000)))
      response.on("end", () =>
        refused.reject(Object.assign(new Error(`HTTP status ${response.statusCode}`), { code: response.statusCode, body })),
      )
    })
    const channel = new ExecChannel(socket)
    try {
      await Promise.race([once(socket, "open"), refused.promise])
      return channel
    } catch (error) {
      socket.terminate()
      throw toEngineError(error, `run programs in runs (${messageOf(error)})`)
    }
  }

  get exitCode(): Promise<number> {
    return this.#exit.promise
  }

  /** Its output. Read once; as long as nobody reads, the connection waits. */
  async *output(): AsyncGenerator<ExecOutput> {
    for (;;) {
      const next = this.#queue.shift()
      if (next) {
        if (!this.#queue.isFull && this.#socket.isPaused) this.#socket.resume()
        yield next
      } else if (this.#ended) return
      else await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  async write(data: Uint8Array): Promise<void> {
    await this.#send(channels.stdin, data)
  }

  endInput(): void {
    void this.#send(channels.close, Uint8Array.of(channels.stdin))
  }

  resize({ columns, rows }: TerminalSize): Promise<void> {
    return this.#send(channels.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows })))
  }

  close(): void {
    this.#socket.terminate()
  }

  #send(channel: number, data: Uint8Array): Promise<void> {
    if (this.#socket.readyState !== WebSocket.OPEN) return Promise.resolve()
    return new Promise((resolve) => this.#socket.send(Buffer.concat([Uint8Array.of(channel), data]), () => resolve()))
  }

  #receive(frame: Buffer): void {
    const [channel] = frame
    const data = frame.subarray(1)
    if (channel === channels.status) {
      this.#settle(JSON.parse(data.toString()) as ExecStatus)
      this.#end()
      return
    }
    if ((channel !== channels.stdout && channel !== channels.stderr) || data.length === 0) return
    this.#queue.push({ stream: channel === channels.stdout ? "stdout" : "stderr", data })
    if (this.#queue.isFull) this.#socket.pause()
    this.#notify()
  }

  #settle({ status, message = "", details }: ExecStatus): void {
    const code = details?.causes?.find(({ reason }) => reason === "ExitCode")?.message
    if (status === "Success") this.#exit.resolve(0)
    else if (code !== undefined) this.#exit.resolve(Number(code))
    else if (/executable file not found|no such file or directory|permission denied/i.test(message))
      this.#exit.reject(new EngineError("command_not_found", "The image has no such program", { detail: message }))
    else this.#exit.reject(new EngineError("engine_error", "The node could not run the program", { detail: message }))
  }

  #end(): void {
    this.#ended = true
    this.#notify()
  }

  #notify(): void {
    const wake = this.#wake
    this.#wake = undefined
    wake?.()
  }
}
