import { Failure } from "#contract"
import { deserializeError, type TreeOutcome } from "./messages.ts"

/**
 * What a call's outcome is to who asked: its answer, a `Failure`, the signal's reason, or a fault
 * of ours.
 */
export function unwrapOutcome(outcome: TreeOutcome, signal: AbortSignal | undefined): unknown {
  if ("answer" in outcome) return outcome.answer
  signal?.throwIfAborted()
  throw "refusal" in outcome ? new Failure(outcome.refusal.code, outcome.refusal.message) : deserializeError(outcome.error)
}
