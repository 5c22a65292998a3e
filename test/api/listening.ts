import type { Client, ServerEvent } from "#client"

/** A reader of events, from now on or after an earlier one. */
export interface Listening extends AsyncDisposable {
  /** What came so far, as `<event> <ID>`. */
  readonly told: string[]
  readonly events: ServerEvent[]
  /** The place up to which it was told. */
  readonly place: string
  /** Resolves when this was told, as `<event> <ID>`; rejects when the stream ends first. */
  until(what: string): Promise<ServerEvent>
  /** Waits as `until` does, answers what came before it, and forgets all that with it. */
  through(what: string): Promise<ServerEvent[]>
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>
}

/** Resolves when the server has answered and told the place: what is done from then on is told. */
export async function listen(client: Client, after?: string): Promise<Listening> {
  const stop = new AbortController()
  const headers: Record<string, string> = after === undefined ? {} : { "last-event-id": after }
  const stream = await client.followEvents({ headers, signal: stop.signal })
  const events: ServerEvent[] = []
  const told: string[] = []
  let place = ""
  let isOver = false
  let changed = Promise.withResolvers<void>()
  const read = async () => {
    try {
      for await (const event of stream) {
        place = event.id
        if (event.event !== "position") {
          events.push(event)
          told.push(event.event === "reset" ? "reset" : `${event.event} ${event.data.ID}`)
        }
        changed.resolve()
        changed = Promise.withResolvers()
      }
    } catch (error) {
      if (!stop.signal.aborted && !(error instanceof TypeError)) throw error
    } finally {
      isOver = true
      changed.resolve()
    }
  }
  const ended = read()
  ended.catch(() => {})
  await changed.promise
  const until = async (what: string) => {
    const signal = AbortSignal.timeout(20_000)
    const late = new Promise<never>((_, reject) =>
      signal.addEventListener("abort", () => reject(new Error(`${what} was not told; told was ${told.join(", ")}`))),
    )
    late.catch(() => {})
    while (!told.includes(what)) {
      if (isOver) throw new Error(`The stream ended before ${what}; told was ${told.join(", ")}`)
      await Promise.race([changed.promise, late])
    }
    return events[told.indexOf(what)] as ServerEvent
  }
  return {
    told,
    events,
    get place() {
      return place
    },
    ended,
    until,
    async through(what) {
      await until(what)
      const count = told.indexOf(what) + 1
      told.splice(0, count)
      return events.splice(0, count).slice(0, -1)
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended
    },
  }
}
