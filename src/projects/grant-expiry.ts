import type { Store } from "#store"
import type { ProjectsContext } from "./context.ts"

const intervalMs = 5_000
/** Of one change, for which all others wait. */
const maxAtOnce = 100
/**
 * While more have expired: one person may have thousands, and others learn of theirs after those.
 */
const pauseMs = 250

type ExpiryContext = Pick<ProjectsContext, "events" | "clock" | "logger"> & { store: Pick<Store, "change" | "grants"> }

/**
 * Removes the rows of expired grants, and publishes the change to the people who had them. A grant
 * ends at its time even if its row is still there. Disposing of the result stops it.
 */
export function startGrantExpiry({ store, events, clock, logger }: ExpiryContext): AsyncDisposable {
  const stop = new AbortController()
  const removeExpired = async (): Promise<number> => {
    if (!(await store.grants.anyExpired())) return 0
    return store.change(async (tx) => {
      const expired = await tx.grants.pruneExpired(maxAtOnce)
      for (const grant of expired) await events.grantVisibilityChanged(tx, grant)
      return expired.length
    })
  }
  const run = async () => {
    for (let removed = 0; !stop.signal.aborted; ) {
      await clock.sleep(removed < maxAtOnce ? intervalMs : pauseMs, stop.signal).catch(() => {})
      if (stop.signal.aborted) return
      removed = await removeExpired().catch((err: unknown) => {
        logger.warn({ err }, "expired grants could not be removed")
        return 0
      })
    }
  }
  const running = run()
  return {
    [Symbol.asyncDispose]: async () => {
      stop.abort()
      await running
    },
  }
}
