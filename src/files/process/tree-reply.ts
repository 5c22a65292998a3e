import { Failure } from "#contract"
import { deserializeError, type TreeOutcome } from "./messages.ts"

/**
 * Returns an operation's result, or throws its `Failure`, the signal's reason, or the worker's
 * error.
 */
export function unwrapOutcome(outcome: TreeOutcome, signal: AbortSignal | undefined): unknown {
  if ("answer" in outcome) return outcome.answer
  signal?.throwIfAborted()
  throw "refusal" in outcome ? new Failure(outcome.refusal.code, outcome.refusal.message) : deserializeError(outcome.error)
}
