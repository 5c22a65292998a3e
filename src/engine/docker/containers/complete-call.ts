import type { Clock } from "#kit"

/** How long an aborted start waits for a call that the daemon has begun. */
const afterAbortMs = 10_000

/**
 * Waits for a call that must not be cut off, since that would leave a container that nobody knows
 * of; after an abort only a little longer. What is waited for no more is cut off: a daemon that
 * hangs would keep the whole process.
 */
export async function completeCall<T>(
  call: (cut: AbortSignal) => Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  signal.throwIfAborted()
  const cut = new AbortController()
  const called = call(cut.signal)
  called.catch(() => {})
  const done = new AbortController()
  const late = aborted(signal, done.signal).then(async () => {
    await clock.sleep(afterAbortMs, done.signal)
    cut.abort(signal.reason)
    throw signal.reason
  })
  late.catch(() => {})
  try {
    return await Promise.race([called, late])
  } finally {
    done.abort()
  }
}

/**
 * Resolves when the signal is aborted; rejects when the other one is, so that nothing is left
 * listening.
 */
function aborted(signal: AbortSignal, done: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => resolve(), { once: true, signal: done })
    done.addEventListener("abort", () => reject(done.reason), { once: true })
  })
}
