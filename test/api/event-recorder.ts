import type { Client, ServerEvent } from "#client"

/** Records the events of one stream, from now on or after an earlier event. */
export interface EventRecorder extends AsyncDisposable {
  /** The events so far, as `<event> <ID>`. */
  readonly received: string[]
  readonly events: ServerEvent[]
  /** The ID of the newest event. */
  readonly lastEventId: string
  /** Resolves with this event (`<event> <ID>`); rejects if the stream ends first. */
  until(expected: string): Promise<ServerEvent>
  /** Waits as `until` does, returns the events before it, and forgets all of them. */
  through(expected: string): Promise<ServerEvent[]>
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
}

/** Resolves when the server has sent the stream's position: later changes reach the recorder. */
export async function recordEvents(client: Client, after?: string): Promise<EventRecorder> {
  const stop = new AbortController()
  const headers: Record<string, string> = after === undefined ? {} : { "last-event-id": after }
  const recorder = new StreamRecorder(await client.followEvents({ headers, signal: stop.signal }), stop)
  await recorder.next()
  return recorder
}

class StreamRecorder implements EventRecorder {
  readonly received: string[] = []
  readonly events: ServerEvent[] = []
  lastEventId = ""
  readonly ended: Promise<void>
  readonly #stop: AbortController
  #hasEnded = false
  #changed = Promise.withResolvers<void>()

  constructor(stream: AsyncIterable<ServerEvent>, stop: AbortController) {
    this.#stop = stop
    this.ended = this.#read(stream)
    this.ended.catch(() => {})
  }

  next(): Promise<void> {
    return this.#changed.promise
  }

  async #read(stream: AsyncIterable<ServerEvent>): Promise<void> {
    try {
      for await (const event of stream) this.#record(event)
    } catch (error) {
      if (!this.#stop.signal.aborted && !(error instanceof TypeError)) throw error
    } finally {
      this.#hasEnded = true
      this.#changed.resolve()
    }
  }

  #record(event: ServerEvent): void {
    this.lastEventId = event.id
    if (event.event !== "position") {
      this.events.push(event)
      this.received.push(event.event === "reset" ? "reset" : `${event.event} ${event.data.ID}`)
    }
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  async until(expected: string): Promise<ServerEvent> {
    const { received } = this
    const signal = AbortSignal.timeout(20_000)
    const timedOut = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(new Error(`Expected ${expected}; received ${received.join(", ")}`))),
    )
    timedOut.catch(() => {})
    while (!received.includes(expected)) {
      if (this.#hasEnded) throw new Error(`The stream ended before ${expected}; received ${received.join(", ")}`)
      await Promise.race([this.next(), timedOut])
    }
    return this.events[received.indexOf(expected)] as ServerEvent
  }

  async through(expected: string): Promise<ServerEvent[]> {
    await this.until(expected)
    const count = this.received.indexOf(expected) + 1
    this.received.splice(0, count)
    return this.events.splice(0, count).slice(0, -1)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.ended
  }
}
