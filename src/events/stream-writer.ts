import { bounds } from "#contract"
import { formatEvent, formatPosition } from "./event-batch.ts"

/** Where a reader's bytes go. */
export interface EventSink {
  write(bytes: Uint8Array | string): void
  /** Bytes that were written and not taken yet. */
  readonly pendingBytes: number
  /**
   * Resolves when what was written has been taken, or the reader is gone, or at the latest when
   * this is aborted.
   */
  drained(latest: AbortSignal): Promise<void>
  /**
   * Ends the stream after these last words; what is not taken within some seconds is thrown away.
   */
  end(text: string): void
  /** Calls back once, when the reader is gone. */
  onClose(listener: () => void): void
}

/** So many bytes may wait for a reader; one for whom more do is let go. */
const maxPendingBytes = bounds.rates.streamBytes.value

/** One stream. */
export class StreamWriter {
  readonly sink: EventSink
  /** The last row that was sent, or was not for them. */
  position: number
  /** Whether it is told together with all others; else it catches up. */
  isLive = false
  isEnded = false

  constructor(sink: EventSink, place: number) {
    this.sink = sink
    this.position = place
  }

  start(): void {
    this.sink.write(`retry: 2000\n${formatPosition(this.position)}`)
  }

  /** Who reads too slowly is let go. */
  send(bytes: Uint8Array | undefined, place: number): void {
    if (this.isEnded) return
    this.position = place
    if (!bytes) return
    if (this.sink.pendingBytes > maxPendingBytes) this.evict()
    else this.sink.write(bytes)
  }

  /** Ends the stream: when they come again, they are to read everything again. */
  evict(): void {
    this.end(resetText(this.position))
  }

  /** Tells them to read everything again, and that what comes next follows this row. */
  reset(place: number): void {
    this.position = place
    this.sink.write(resetText(place))
  }

  /**
   * Keeps the connection open and the place fresh, so that somebody who is told nothing for long
   * has no gap.
   */
  sendHeartbeat(): void {
    if (!this.isEnded && this.sink.pendingBytes === 0) this.sink.write(`: still here\n${formatPosition(this.position)}`)
  }

  end(text = ""): void {
    if (this.isEnded) return
    this.isEnded = true
    this.sink.end(text)
  }
}

function resetText(place: number): string {
  return formatEvent({ id: place, event: "reset", data: {} })
}
