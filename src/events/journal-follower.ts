import type { Clock, Logger } from "#kit"
import type { Notice, Store } from "#store"
import type { ResourceRef } from "./events.ts"

const pageSize = 500
/** Changes that come close together are read together. */
const gapMs = 50
const retryMs = 1_000

export interface JournalFollowerOptions {
  store: Pick<Store, "events" | "notices">
  clock: Clock
  logger: Logger
  /** A resource changed, in whichever process. */
  onResourceChange(resource: ResourceRef): void
  /** Rows may be missing: everything may have changed. */
  onGap(): void
}

/**
 * Reads the journal's new rows when a notice says that there are some. On a database that one
 * process writes there is nothing to follow.
 */
export function followJournal(options: JournalFollowerOptions): AsyncDisposable {
  const { store, clock, logger } = options
  const closing = new AbortController()
  const { signal } = closing
  let wake = () => {}
  let isNews = false
  let isGap = false
  let position: number | undefined
  const handle = ({ kind }: Notice) => {
    if (kind !== "journal" && kind !== "gap") return
    isGap ||= kind === "gap"
    isNews = true
    wake()
  }
  const listening = store.notices?.on(handle)
  const read = async () => {
    isNews = false
    const { first, last } = await store.events.bounds()
    if (isGap || position === undefined || position < first - 1 || position > last) {
      isGap = false
      position = last
      return options.onGap()
    }
    for (let isLast = false; !isLast; ) {
      const rows = await store.events.after(position, pageSize)
      isLast = rows.length < pageSize
      position = rows.at(-1)?.id ?? position
      for (const { resource } of rows) options.onResourceChange(resource as ResourceRef)
    }
  }
  const run = async () => {
    while (!signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      if (!isNews) await promise
      if (signal.aborted) return
      await read().catch(async (err: unknown) => {
        isGap = true
        isNews = true
        if (!signal.aborted) logger.warn({ err }, "changes by other processes were not read")
        await clock.sleep(retryMs, signal).catch(() => {})
      })
      await clock.sleep(gapMs, signal).catch(() => {})
    }
  }
  const running = listening ? run() : Promise.resolve()
  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      listening?.[Symbol.dispose]()
      wake()
      await running
    },
  }
}
