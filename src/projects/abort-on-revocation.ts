import { type Action, type Caller, decideWithGrants, type Identity, type Resource } from "#access"
import type { Clock, Logger } from "#kit"
import { type Reads, readAsNobody } from "#store"

const intervalMs = 2_000
/** Checks may fail for about a minute, for example while the database restarts. */
const maxFailuresInRow = 30

interface RevalidationContext {
  store: Pick<Reads, "grants">
  identity: Pick<Identity, "refreshCaller">
  clock: Clock
  logger: Logger
}

/** The parts of a caller that tell whether the right still holds. */
export interface RightHolder {
  readonly userId: number
  readonly credential: Pick<Caller["credential"], "id">
}

interface Right {
  action: Action
  /** Reads the resource anew; undefined if it does not exist any more. */
  resource: () => Promise<Resource | undefined>
}

/**
 * The signal for a response that lasts. It is aborted with the request's own signal, and within 5 s
 * after the caller lost their proof or the right, whichever process ended it.
 */
export function abortOnRevocation(
  context: RevalidationContext,
  { caller, signal }: { caller: RightHolder; signal: AbortSignal },
  right: Right,
): AbortSignal {
  const controller = new AbortController()
  // Nobody delays the end of a right of theirs by hundreds of reads.
  const revoked = readAsNobody(() => untilRevoked(context, { caller, signal }, right))
  void revoked.then((reason) => controller.abort(reason))
  return AbortSignal.any([signal, controller.signal])
}

interface Work<T> {
  /** The error when the right ended before the work. */
  onRevoked: (cause: unknown) => Error
  work: (signal: AbortSignal) => Promise<T>
}

/** Runs work that may take minutes with a signal of `abortOnRevocation`, and ends its checks. */
export async function runWhileAllowed<T>(
  context: RevalidationContext,
  { caller, signal }: { caller: RightHolder; signal: AbortSignal },
  { onRevoked, work, ...right }: Right & Work<T>,
): Promise<T> {
  const ended = new AbortController()
  const allowed = abortOnRevocation(context, { caller, signal: AbortSignal.any([signal, ended.signal]) }, right)
  try {
    return await work(allowed)
  } catch (error) {
    throw allowed.aborted && !signal.aborted ? onRevoked(error) : error
  } finally {
    ended.abort()
  }
}

/** Resolves with the reason when the right has ended, or the request is aborted. */
async function untilRevoked(
  { store, identity, clock, logger }: RevalidationContext,
  { caller, signal }: { caller: RightHolder; signal: AbortSignal },
  { action, resource }: Right,
): Promise<unknown> {
  for (let failures = 0; failures < maxFailuresInRow; ) {
    try {
      await clock.sleep(intervalMs, signal)
    } catch {
      return signal.reason
    }
    try {
      const [callerNow, resourceNow] = await Promise.all([identity.refreshCaller(caller.userId, caller.credential.id), resource()])
      if (!callerNow || !resourceNow || (await decideWithGrants(store, callerNow, action, resourceNow)) !== "yes") break
      failures = 0
    } catch (err) {
      failures += 1
      logger.warn({ err, user: caller.userId }, "a right could not be checked again")
    }
  }
  return new DOMException("The right to this ended", "AbortError")
}
