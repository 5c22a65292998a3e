import type { Clock } from "#kit"

/** How long an aborted start waits for a call that the daemon has begun. */
const graceMs = 10_000

/**
 * Waits for a call that must not be aborted, since an unknown container could remain; after an
 * abort it waits only a little longer. Then the call is aborted after all: a hung daemon would keep
 * the whole process alive.
 */
export async function callWithAbortGrace<T>(
  call: (signal: AbortSignal) => Promise<T>,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<T> {
  signal.throwIfAborted()
  const controller = new AbortController()
  const called = call(controller.signal)
  called.catch(() => {})
  const done = new AbortController()
  const timeout = aborted(signal, done.signal).then(async () => {
    await clock.sleep(graceMs, done.signal)
    controller.abort(signal.reason)
    throw signal.reason
  })
  timeout.catch(() => {})
  try {
    return await Promise.race([called, timeout])
  } finally {
    done.abort()
  }
}

/** Resolves when the signal is aborted; rejects when `done` is, which removes both listeners. */
function aborted(signal: AbortSignal, done: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => resolve(), { once: true, signal: done })
    done.addEventListener("abort", () => reject(done.reason), { once: true })
  })
}
