import { once } from "node:events"
import type { ServerResponse } from "node:http"
import type { Sink } from "#events"

/** What is not taken so long after the end of a stream is thrown away. */
const lastMs = 5_000

/** Sends the head of a stream of events, at once. The stream ends with its connection: without the frames of chunks each write is one, and costs half. */
export function sendStreamHead(response: ServerResponse, requestId: string): void {
  response.useChunkedEncodingByDefault = false
  response.shouldKeepAlive = false
  response.writeHead(200, [
    ...["content-type", "text/event-stream; charset=utf-8"],
    ...["cache-control", "no-store"],
    ...["x-accel-buffering", "no"],
    ...["x-content-type-options", "nosniff"],
    ...["x-request-id", requestId],
  ])
}

/** A response as the place where a stream's bytes go. */
export class ResponseSink implements Sink {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get pending(): number {
    return this.#response.writableLength
  }

  write(bytes: Uint8Array | string): void {
    if (!this.#response.destroyed) this.#response.write(bytes)
  }

  async drained(): Promise<void> {
    const response = this.#response
    if (!response.writableNeedDrain || response.destroyed) return
    await Promise.race([once(response, "drain"), once(response, "close")])
  }

  end(text: string): void {
    const response = this.#response
    response.end(text)
    const cut = setTimeout(() => response.destroy(), lastMs)
    cut.unref()
    response.once("close", () => clearTimeout(cut))
  }

  onGone(listener: () => void): void {
    if (this.#response.closed || this.#response.destroyed) listener()
    else this.#response.once("close", listener)
  }
}
