import { Failure, type ServerEvent } from "#contract"

interface EventsClient {
  followEvents(options: { headers: Readonly<Record<string, string>>; signal: AbortSignal }): Promise<AsyncIterable<ServerEvent>>
}

export interface FollowOptions {
  signal: AbortSignal
  /** The `id` of the last known event. Default: events from now on. */
  after?: string
  /** Milliseconds between two connections. Default 2,000. */
  waitMs?: number
}

/**
 * Everything that happens, until the signal is aborted. When a connection ends, the next one goes
 * on after the last event. Throws the `Failure` of a refusal that waiting does not help against.
 */
export async function* followEvents(
  client: EventsClient,
  { signal, after, waitMs = 2_000 }: FollowOptions,
): AsyncGenerator<ServerEvent, void, undefined> {
  let last = after
  while (!signal.aborted) {
    try {
      const headers: Record<string, string> = last === undefined ? {} : { "last-event-id": last }
      for await (const event of await client.followEvents({ headers, signal })) {
        last = event.id
        if (event.event !== "position") yield event
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Failure && error.status < 500 && error.status !== 429) throw error
    }
    await wait(waitMs, signal)
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener("abort", done)
  })
}
