import { bounds } from "#contract"
import { formatEvent, formatPosition } from "./event-batch.ts"

/** The receiver of a stream's bytes. */
export interface EventSink {
  write(bytes: Uint8Array | string): void
  /** Bytes written and not yet accepted. */
  readonly pendingBytes: number
  /**
   * Resolves when all bytes are accepted or the reader has disconnected, at the latest when the
   * signal is aborted.
   */
  drained(latest: AbortSignal): Promise<void>
  /** Ends the stream after this text; bytes not accepted within some seconds are discarded. */
  end(text: string): void
  /** Calls the listener once, when the reader has disconnected. */
  onClose(listener: () => void): void
}

/** The maximum of pending bytes; a reader beyond it is evicted. */
const maxPendingBytes = bounds.rates.streamBytes.value

/** One stream. */
export class StreamWriter {
  readonly sink: EventSink
  /** The last row that was sent or filtered out. */
  position: number
  /** Whether it gets live events; otherwise it catches up. */
  isLive = false
  isEnded = false

  constructor(sink: EventSink, position: number) {
    this.sink = sink
    this.position = position
  }

  start(): void {
    this.sink.write(`retry: 2000\n${formatPosition(this.position)}`)
  }

  /** Evicts a reader that is too slow. */
  send(bytes: Uint8Array | undefined, position: number): void {
    if (this.isEnded) return
    this.position = position
    if (!bytes) return
    if (this.sink.pendingBytes > maxPendingBytes) this.evict()
    else this.sink.write(bytes)
  }

  /** Ends the stream with a reset: the reader has to load everything again. */
  evict(): void {
    this.end(resetText(this.position))
  }

  /** Sends a reset; the next events follow this row. */
  reset(position: number): void {
    this.position = position
    this.sink.write(resetText(position))
  }

  /** Keeps the connection open and the position fresh, so that a quiet stream gets no gap. */
  sendHeartbeat(): void {
    if (!this.isEnded && this.sink.pendingBytes === 0) this.sink.write(`: still here\n${formatPosition(this.position)}`)
  }

  end(text = ""): void {
    if (this.isEnded) return
    this.isEnded = true
    this.sink.end(text)
  }
}

function resetText(position: number): string {
  return formatEvent({ id: position, event: "reset", data: {} })
}
