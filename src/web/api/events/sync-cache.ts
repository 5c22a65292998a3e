import type { QueryClient } from "@tanstack/react-query"
import { followEvents } from "#client"
import type { List, RunningProject, ServerEvent } from "#contract"
import { client } from "../client.ts"
import { connection } from "../connection.ts"
import { imagePullQuery } from "../image-pull.ts"
import { installation } from "../installation.ts"
import { operationsToRefetch, patchRun, patchRuns } from "./event-effects.ts"
import { Refresher } from "./refresher.ts"

const hiddenMs = 30_000

export interface SyncHandlers {
  /** Each event as it comes, after the cache was patched. */
  onEvent?: (event: ServerEvent) => void
}

/**
 * Keeps the cache in step with the server. Only a visible page follows: browsers allow six
 * connections to one server, and hidden pages would use them up. A page that is shown again
 * receives the missed events first. Returns a function that ends it.
 */
export function syncCache(cache: QueryClient, { onEvent }: SyncHandlers = {}): () => void {
  const refresher = new Refresher((operation) => void cache.invalidateQueries({ queryKey: [operation] }))
  let last = installation.signedIn?.lastEvent
  let abort: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  const follow = async (signal: AbortSignal) => {
    const options = { signal, ...(last === undefined ? {} : { after: last }) }
    for await (const event of followEvents({ followEvents: connect }, options)) {
      last = event.id
      applyEvent(cache, event)
      const stale = operationsToRefetch(event)
      if (stale === "all") void cache.invalidateQueries()
      else refresher.add(stale)
      onEvent?.(event)
    }
  }
  const start = () => {
    clearTimeout(hiding)
    if (abort) return
    abort = new AbortController()
    // The only error is a refusal such as 401, which the page shows already.
    follow(abort.signal).catch(() => stop())
  }
  const stop = () => {
    abort?.abort()
    abort = undefined
  }
  const onVisibility = () => {
    if (document.visibilityState === "visible") start()
    else hiding = setTimeout(stop, hiddenMs)
  }
  const stopWatching = connection.subscribe(() => {
    if (!connection.get().isExpired && document.visibilityState === "visible") start()
  })
  document.addEventListener("visibilitychange", onVisibility)
  onVisibility()
  return () => {
    document.removeEventListener("visibilitychange", onVisibility)
    stopWatching()
    clearTimeout(hiding)
    stop()
    refresher.stop()
  }
}

async function connect(options: { headers: Readonly<Record<string, string>>; signal: AbortSignal }): Promise<AsyncIterable<ServerEvent>> {
  const events = await client.followEvents(options)
  return untilLost(events, options.signal)
}

async function* untilLost(events: AsyncIterable<ServerEvent>, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  try {
    yield* events
  } catch (error) {
    if (!signal.aborted) connection.setUnreachable(true)
    throw error
  }
}

function applyEvent(cache: QueryClient, event: ServerEvent): void {
  if (event.event === "image.progress" && event.data.ID !== undefined)
    cache.setQueryData(imagePullQuery(event.data.ID).queryKey, event.data)
  if (!event.event.startsWith("run.")) return
  cache.setQueriesData<List<RunningProject>>({ queryKey: ["listRuns"] }, (list) => list && patchRuns(list, event))
  cache.setQueriesData<RunningProject>({ queryKey: ["readRun"] }, (run) => run && patchRun(run, event))
}
