import type { QueryClient } from "@tanstack/react-query"
import { followEvents } from "#client"
import type { List, OperationId, RunningProject, ServerEvent } from "#contract"
import { client } from "./client.ts"
import { connection } from "./connection.ts"
import { operationsToRefetch, patchRun, patchRuns } from "./event-effects.ts"
import { imagePullQuery } from "./image-pull.ts"
import { installation } from "./installation.ts"

/** The pause between two rounds of reading again, so that many events cost one round. */
const refreshPauseMs = 700
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
  const refresher = new Refresher(cache)
  let last = installation.signedIn?.lastEvent
  let abort: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  const follow = async (signal: AbortSignal) => {
    const options = { signal, ...(last === undefined ? {} : { after: last }) }
    for await (const event of followEvents({ followEvents: connect }, options)) {
      last = event.id
      applyEvent(cache, event)
      refresher.add(operationsToRefetch(event))
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

/** Collects operations and reads their answers again, at most once per pause. */
class Refresher {
  readonly #cache: QueryClient
  readonly #waiting = new Set<OperationId>()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(cache: QueryClient) {
    this.#cache = cache
  }

  add(operations: readonly OperationId[] | "all"): void {
    if (operations === "all") return void this.#cache.invalidateQueries()
    for (const operation of operations) this.#waiting.add(operation)
    if (this.#waiting.size === 0 || this.#timer !== undefined) return
    this.#run()
    this.#timer = setTimeout(() => this.#next(), refreshPauseMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #next(): void {
    this.#timer = undefined
    if (this.#waiting.size === 0) return
    this.#run()
    this.#timer = setTimeout(() => this.#next(), refreshPauseMs)
  }

  #run(): void {
    for (const operation of this.#waiting) void this.#cache.invalidateQueries({ queryKey: [operation] })
    this.#waiting.clear()
  }
}
