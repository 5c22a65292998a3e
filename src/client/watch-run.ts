import { Failure, isLive, type Progress, type RunningProject, type ServerEvent } from "#contract"

interface RunReader {
  readRun(options: { query: { ID: number }; signal: AbortSignal }): Promise<RunningProject>
  followEvents(options: { signal: AbortSignal }): Promise<AsyncIterable<ServerEvent>>
}

export interface WatchOptions {
  signal: AbortSignal
  /** Milliseconds between two connections. Default 1,000. */
  waitMs?: number
}

/**
 * A run at once and after each change, until it has ended. `Progress` follows the server's events
 * without reading the run again. Lost connections are opened again.
 */
export async function* watchRun(
  client: RunReader,
  ID: number,
  { signal, waitMs = 1_000 }: WatchOptions,
): AsyncGenerator<RunningProject, void, undefined> {
  let isFirst = true
  for (;;) {
    if (!isFirst) await new Promise((resolve) => setTimeout(resolve, waitMs))
    isFirst = false
    signal.throwIfAborted()
    const connection = new AbortController()
    const either = AbortSignal.any([signal, connection.signal])
    try {
      // The connection is open before the run is read, so that no change falls in between.
      const events = await client.followEvents({ signal: either })
      let run = await client.readRun({ query: { ID }, signal })
      yield run
      if (!isLive(run.State)) return
      for await (const { event, data } of events) {
        if (event === "run.progress" && data.ID === ID) {
          run = { ...run, Progress: data.Progress as Progress | null }
          yield run
        } else if (event === "reset" || (event.startsWith("run.") && data.ID === ID)) {
          run = await client.readRun({ query: { ID }, signal })
          yield run
          if (!isLive(run.State)) return
        }
      }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof Failure ? error.status < 500 && error.status !== 429 : !(error instanceof TypeError)) throw error
    } finally {
      connection.abort()
    }
  }
}
