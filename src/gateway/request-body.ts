import { type Clock, Pieces } from "#kit"
import type { Call } from "./call.ts"
import type { Passage } from "./passage.ts"
import { requestTrailers } from "./request-headers.ts"
import type { Connection } from "./upstream/connection.ts"

export function hasBody({ request: { headers } }: Call): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"
}

/** Hands a request's body on as the program takes it. */
export class RequestBody {
  readonly #call: Call
  readonly #passage: Passage
  readonly #clock: Clock
  /** Since when the client has been waited for; undefined when it is not its turn. */
  waitingSince: number | undefined
  #to: Connection | undefined
  /** What one read brought: a client may cut it into thousands of chunks, which the program gets as one. */
  readonly #read = new Pieces()

  constructor(call: Call, passage: Passage, clock: Clock) {
    this.#call = call
    this.#passage = passage
    this.#clock = clock
  }

  start(connection: Connection): void {
    const { request } = this.#call
    this.#to = connection
    this.waitingSince = this.#clock.now()
    request.on("data", (chunk: Buffer) => {
      if (this.#read.length === 0) setImmediate(() => this.#pass())
      this.#read.add(chunk)
    })
    request.on("end", () => {
      this.#pass()
      this.waitingSince = undefined
      if (this.#isChunked) this.#to?.write(`0\r\n${requestTrailers(request.rawTrailers, this.#passage)}\r\n`)
      this.#to?.endBody()
    })
  }

  get #isChunked(): boolean {
    return this.#call.request.headers["transfer-encoding"] !== undefined
  }

  #pass(): void {
    if (this.#read.length === 0) return
    const { length } = this.#read
    const buffers = this.#read.take()
    const hasRoom = this.#to === undefined || (this.#isChunked ? writeChunk(this.#to, buffers, length) : writeAll(this.#to, buffers))
    this.waitingSince = hasRoom ? this.#clock.now() : undefined
    if (!hasRoom) this.#call.request.pause()
  }

  /** The program has room again. */
  goOn(): void {
    const { request } = this.#call
    this.waitingSince = request.complete ? undefined : this.#clock.now()
    request.resume()
  }

  /** What still comes is read and forgotten: the answer is there. */
  stop(): void {
    this.#to = undefined
    if (!this.#call.request.complete) this.#call.request.resume()
  }
}

function writeChunk(connection: Connection, buffers: readonly Buffer[], length: number): boolean {
  connection.cork()
  connection.write(`${length.toString(16)}\r\n`)
  writeAll(connection, buffers)
  const hasRoom = connection.write("\r\n")
  connection.uncork()
  return hasRoom
}

function writeAll(connection: Connection, buffers: readonly Buffer[]): boolean {
  let hasRoom = true
  for (const buffer of buffers) hasRoom = connection.write(buffer)
  return hasRoom
}
