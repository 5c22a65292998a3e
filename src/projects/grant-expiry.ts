import type { Events } from "#events"
import type { Clock, Logger } from "#kit"
import type { Store } from "#store"
import { granteesOf } from "./grantees.ts"

const everyMs = 5_000
const atOnce = 100

/**
 * Removes grants when their time is over, which ended them already, and tells those who had them.
 * Until it is disposed of.
 */
export function startGrantExpiry({
  store,
  events,
  clock,
  logger,
}: {
  store: Store
  events: Events
  clock: Clock
  logger: Logger
}): AsyncDisposable {
  const end = new AbortController()
  const round = async () => {
    if (!(await store.grants.anyExpired())) return
    await store.change(async (tx) => {
      for (const grant of await tx.grants.trim(atOnce)) {
        await events.sightChanged(tx, { resources: [{ type: grant.thingType, id: grant.thingId }], people: await granteesOf(tx, grant) })
      }
    })
  }
  const rounds = async () => {
    while (!end.signal.aborted) {
      await clock.sleep(everyMs, end.signal).catch(() => {})
      if (!end.signal.aborted) await round().catch((err) => logger.warn({ err }, "grants past their time were not removed"))
    }
  }
  const under = rounds()
  return {
    [Symbol.asyncDispose]: async () => {
      end.abort()
      await under
    },
  }
}
