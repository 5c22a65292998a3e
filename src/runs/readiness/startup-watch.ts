import type { Progress } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { portOf } from "../lifecycle/engine-spec.ts"

/** With more starting programs, each is looked at less often. */
const fullRateStarts = 5
const maxLineCharacters = 200
const maxPortsNamed = 5

export interface StartupWatchOptions {
  /** Time until the program must answer. */
  totalMs: number
  /** Called when the program has printed, computed or moved data since the last look. */
  onWork(): void
  report(progress: Progress): void
  /** Called when it is seen that the program listens, but not where it should. */
  onListening(hint: string): void
  signal: AbortSignal
}

/**
 * Watches a program that does not answer yet: reports its last line of output, and whether it is at
 * work. Ends when the signal is aborted. Never rejects: a look that fails is made again later.
 */
export async function watchStartup(ctx: RunsContext, run: RunRow, options: StartupWatchOptions): Promise<void> {
  const { clock, settings, startingWork } = ctx
  const began = clock.now()
  let lastWork = began
  try {
    while (!options.signal.aborted) {
      await clock.sleep(settings.startupLookEveryMs * Math.max(1, ctx.probes.count / fullRateStarts), options.signal)
      const line = await lastLine(ctx, run, options.signal)
      const work = Math.max(line?.time ?? 0, startingWork.get(run.id) ?? 0)
      if (work > lastWork) options.onWork()
      lastWork = Math.max(lastWork, work)
      const current = Math.floor((clock.now() - began) / 1_000)
      const hint = clock.now() - began >= settings.startupHintAfterMs ? await listeningHint(ctx, run, options.signal) : undefined
      if (hint !== undefined) options.onListening(hint)
      const step = hint ?? (line?.text.trim().slice(0, maxLineCharacters) || "waiting for the program")
      options.report({ step, current, total: Math.ceil(options.totalMs / 1_000), unit: "seconds" })
    }
  } catch {
    // Only the sleep rejects, with the signal's reason.
  } finally {
    startingWork.delete(run.id)
  }
}

/** Undefined if the program listens on its port, on none, or nobody knows. */
async function listeningHint({ engine }: RunsContext, run: RunRow, signal: AbortSignal): Promise<string | undefined> {
  const expected = portOf(run)
  const ports = (await engine.listeningPorts(run.key, signal).catch(() => undefined)) ?? []
  const own = ports.find(({ port }) => port === expected)
  if (own) return own.isLocal ? `the program listens on port ${expected} of 127.0.0.1 only; it must listen on 0.0.0.0` : undefined
  if (ports.length === 0) return undefined
  const others = ports.slice(0, maxPortsNamed).map(({ port }) => port)
  return `the program listens on port ${others.join(", ")}; the project expects ${expected}`
}

async function lastLine({ engine }: RunsContext, { key }: RunRow, signal: AbortSignal) {
  try {
    return (await Array.fromAsync(engine.logs(key, { tail: 1, signal }))).at(-1)
  } catch {
    return undefined
  }
}
