import type { Clock } from "#kit"
import type { Call } from "./call.ts"
import type { Passage } from "./passage.ts"
import { requestTrailers } from "./request-headers.ts"
import type { Connection } from "./upstream/connection.ts"

/** Hands a request's body on as the program takes it. */
export class RequestBody {
  readonly #call: Call
  readonly #passage: Passage
  readonly #clock: Clock
  /** Since when the client has been waited for; undefined when it is not its turn. */
  waitingSince: number | undefined
  #to: Connection | undefined

  constructor(call: Call, passage: Passage, clock: Clock) {
    this.#call = call
    this.#passage = passage
    this.#clock = clock
  }

  start(connection: Connection): void {
    const { request } = this.#call
    const isChunked = request.headers["transfer-encoding"] !== undefined
    this.#to = connection
    this.waitingSince = this.#clock.now()
    request.on("data", (chunk: Buffer) => {
      const hasRoom = this.#to === undefined || (isChunked ? writeChunk(this.#to, chunk) : this.#to.write(chunk))
      this.waitingSince = hasRoom ? this.#clock.now() : undefined
      if (!hasRoom) request.pause()
    })
    request.on("end", () => {
      this.waitingSince = undefined
      if (isChunked) this.#to?.write(`0\r\n${requestTrailers(request.rawTrailers, this.#passage)}\r\n`)
      this.#to?.endBody()
    })
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

function writeChunk(connection: Connection, chunk: Buffer): boolean {
  connection.cork()
  connection.write(`${chunk.length.toString(16)}\r\n`)
  connection.write(chunk)
  const hasRoom = connection.write("\r\n")
  connection.uncork()
  return hasRoom
}
