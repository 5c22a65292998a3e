import { bounds } from "#contract"
import { eventText, placeText } from "./event-batch.ts"

/** Where a reader's bytes go. */
export interface Sink {
  write(bytes: Uint8Array | string): void
  /** Bytes that were written and not taken yet. */
  readonly pending: number
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
  onGone(listener: () => void): void
}

/** So many bytes may wait for a reader; one for whom more do is let go. */
const pendingMax = bounds.rates.streamBytes.value

/** One stream. */
export class Reader {
  readonly sink: Sink
  /** The last row that was sent, or was not for them. */
  place: number
  /** Whether it is told together with all others; else it catches up. */
  isLive = false
  isOver = false

  constructor(sink: Sink, place: number) {
    this.sink = sink
    this.place = place
  }

  begin(): void {
    this.sink.write(`retry: 2000\n${placeText(this.place)}`)
  }

  /** Who reads too slowly is let go. */
  send(bytes: Uint8Array | undefined, place: number): void {
    if (this.isOver) return
    this.place = place
    if (!bytes) return
    if (this.sink.pending > pendingMax) this.letGo()
    else this.sink.write(bytes)
  }

  /** Ends the stream: when they come again, they are to read everything again. */
  letGo(): void {
    this.end(resetText(this.place))
  }

  /** Tells them to read everything again, and that what comes next follows this row. */
  reset(place: number): void {
    this.place = place
    this.sink.write(resetText(place))
  }

  /**
   * Keeps the connection open and the place fresh, so that somebody who is told nothing for long
   * has no gap.
   */
  beat(): void {
    if (!this.isOver && this.sink.pending === 0) this.sink.write(`: still here\n${placeText(this.place)}`)
  }

  end(text = ""): void {
    if (this.isOver) return
    this.isOver = true
    this.sink.end(text)
  }
}

function resetText(place: number): string {
  return eventText({ id: place, event: "reset", data: {} })
}
