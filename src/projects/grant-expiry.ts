import type { Store } from "#store"
import type { ProjectsContext } from "./context.ts"

const intervalMs = 5_000
const maxAtOnce = 100

type ExpiryContext = Pick<ProjectsContext, "events" | "clock" | "logger"> & { store: Pick<Store, "change" | "grants"> }

/**
 * Removes the rows of expired grants, and publishes the change to the people who had them. A grant
 * ends at its time even if its row is still there. Disposing of the result stops it.
 */
export function startGrantExpiry({ store, events, clock, logger }: ExpiryContext): AsyncDisposable {
  const stop = new AbortController()
  const removeExpired = async () => {
    if (!(await store.grants.anyExpired())) return
    await store.change(async (tx) => {
      for (const grant of await tx.grants.pruneExpired(maxAtOnce)) await events.grantVisibilityChanged(tx, grant)
    })
  }
  const run = async () => {
    while (!stop.signal.aborted) {
      await clock.sleep(intervalMs, stop.signal).catch(() => {})
      if (!stop.signal.aborted) await removeExpired().catch((err) => logger.warn({ err }, "expired grants could not be removed"))
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
