import { type Action, type Caller, decideWithGrants, type Identity, type Resource } from "#access"
import type { Clock, Logger } from "#kit"
import type { Reads } from "#store"

const everyMs = 2_000
/**
 * How often in a row nobody may be able to tell, as while the database restarts, before the answer
 * counts as no.
 */
const unansweredMax = 30

interface RevalidationContext {
  store: Pick<Reads, "grants">
  identity: Pick<Identity, "refreshCaller">
  clock: Clock
  logger: Logger
}

/**
 * For answers that go on for long: aborted with the request's own signal, and within 5 s of the end
 * of the proof or the right, whichever process ended it. `resource` is asked for each time,
 * undefined when there is none any more.
 */
export function revalidate(
  context: RevalidationContext,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
  asked: { action: Action; resource: () => Promise<Resource | undefined> },
): AbortSignal {
  const controller = new AbortController()
  void watch(context, { caller, signal }, asked).then((why) => controller.abort(why))
  return AbortSignal.any([signal, controller.signal])
}

/** Resolves with the reason when the right has ended, or the request is over. */
async function watch(
  { store, identity, clock, logger }: RevalidationContext,
  { caller, signal }: { caller: Caller; signal: AbortSignal },
  { action, resource }: { action: Action; resource: () => Promise<Resource | undefined> },
): Promise<unknown> {
  for (let unanswered = 0; unanswered < unansweredMax; ) {
    try {
      await clock.sleep(everyMs, signal)
    } catch {
      return signal.reason
    }
    try {
      const [now, about] = await Promise.all([identity.refreshCaller(caller.userId, caller.credential.id), resource()])
      if (!now || !about || (await decideWithGrants(store, now, action, about)) !== "yes") break
      unanswered = 0
    } catch (err) {
      unanswered += 1
      logger.warn({ err, user: caller.userId }, "whether somebody still may was not answered")
    }
  }
  return new DOMException("The right to this ended", "AbortError")
}
