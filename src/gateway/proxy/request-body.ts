import { PacedReader, sharedTurnBudget } from "#http"
import type { Clock } from "#kit"
import type { GatewayRequest } from "../gateway-request.ts"
import type { UpstreamConnection } from "../upstream/connection.ts"
import type { ProxyRequest } from "./proxy-request.ts"
import { requestTrailers } from "./request-headers.ts"

/** Forwards a request's body at the pace of the program. */
export class RequestBody {
  readonly #gatewayRequest: GatewayRequest
  readonly #proxyRequest: ProxyRequest
  readonly #clock: Clock
  readonly #onWaiting: (isWaiting: boolean) => void
  /** The start of the wait for the client; undefined while the program is the slower side. */
  waitingSince: number | undefined
  #to: UpstreamConnection | undefined
  readonly #reader: PacedReader

  /** `onWaiting` is told whether bytes wait until the program reads. */
  constructor(
    gatewayRequest: GatewayRequest,
    proxyRequest: ProxyRequest,
    { clock, onWaiting }: { clock: Clock; onWaiting: (isWaiting: boolean) => void },
  ) {
    this.#onWaiting = onWaiting
    this.#gatewayRequest = gatewayRequest
    this.#proxyRequest = proxyRequest
    this.#clock = clock
    this.#reader = new PacedReader(() => gatewayRequest.request.resume(), sharedTurnBudget)
  }

  start(connection: UpstreamConnection): void {
    const { request } = this.#gatewayRequest
    const isChunked = request.headers["transfer-encoding"] !== undefined
    this.#to = connection
    this.waitingSince = this.#clock.now()
    request.on("data", (chunk: Buffer) => {
      const hasRoom = this.#to === undefined || (isChunked ? writeChunk(this.#to, chunk) : this.#to.write(chunk))
      this.waitingSince = hasRoom ? this.#clock.now() : undefined
      if (!hasRoom) this.#pause()
      if (!this.#reader.countRead(this.#proxyRequest.visitor.userId, chunk.length)) request.pause()
    })
    request.on("end", () => {
      this.waitingSince = undefined
      if (isChunked) this.#to?.write(`0\r\n${requestTrailers(request.rawTrailers, this.#proxyRequest)}\r\n`)
      this.#to?.endBody()
    })
  }

  #pause(): void {
    this.#reader.pause()
    this.#onWaiting(true)
  }

  /** The program has room again. */
  resume(): void {
    this.#onWaiting(false)
    const { request } = this.#gatewayRequest
    this.waitingSince = request.complete ? undefined : this.#clock.now()
    this.#reader.resume()
  }

  /** Discards the rest of the body: the response has ended. */
  discard(): void {
    this.#to = undefined
    if (!this.#gatewayRequest.request.complete) this.#reader.resume()
  }
}

function writeChunk(connection: UpstreamConnection, chunk: Buffer): boolean {
  connection.cork()
  connection.write(`${chunk.length.toString(16)}\r\n`)
  connection.write(chunk)
  const hasRoom = connection.write("\r\n")
  connection.uncork()
  return hasRoom
}
