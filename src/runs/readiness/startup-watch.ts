import type { Progress } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import type { ProbeResult } from "./probe.ts"
import { portFault, responseFault, type StartFault } from "./start-fault.ts"

/** With more starting programs, each is looked at less often. */
const fullRateStarts = 5
const maxLineCharacters = 200

export interface WatchStartupOptions {
  /** Time until the program must answer. */
  totalMs: number
  /** Called when the program has printed, computed or moved data since the last look. */
  onWork(): void
  report(progress: Progress): void
  /** The result of the latest probe, if there was one. */
  lastProbe(): ProbeResult | undefined
  /** Called when it is seen that the program does not listen where it should. */
  onPortFault(fault: StartFault): void
  signal: AbortSignal
}

/**
 * Watches a program that does not answer yet: reports its last line of output, and whether it is at
 * work. Ends when the signal is aborted. Never rejects: a look that fails is made again later.
 */
export async function watchStartup(ctx: RunsContext, run: RunRow, options: WatchStartupOptions): Promise<void> {
  const { clock, settings, startingWork } = ctx
  const began = clock.now()
  let lastWork = began
  try {
    while (!options.signal.aborted) {
      await clock.sleep(settings.startupLookEveryMs * ctx.probes.programs.slowdownOf(run.userId, fullRateStarts), options.signal)
      const line = await lastLine(ctx, run, options.signal)
      const work = Math.max(line?.time ?? 0, startingWork.get(run.id) ?? 0)
      if (work > lastWork) options.onWork()
      lastWork = Math.max(lastWork, work)
      const current = Math.floor((clock.now() - began) / 1_000)
      const fault = clock.now() - began >= settings.startupHintAfterMs ? await findFault(ctx, run, options) : undefined
      const printed = line?.text.trim().slice(0, maxLineCharacters)
      const seen = fault && (fault.step ?? fault.text)
      const step = (fault?.isFinal ? seen : printed || seen) || "waiting for the program"
      options.report({ step, current, total: Math.ceil(options.totalMs / 1_000), unit: "seconds" })
    }
  } catch {
    // Only the sleep rejects, with the signal's reason.
  } finally {
    startingWork.delete(run.id)
  }
}

/**
 * The fault that explains why the program is not ready. One that listens nowhere may only be slow:
 * its last line of output says more.
 */
async function findFault(
  { engine }: RunsContext,
  run: RunRow,
  { lastProbe, onPortFault, signal }: WatchStartupOptions,
): Promise<(StartFault & { isFinal: boolean }) | undefined> {
  const answer = responseFault(run, lastProbe())
  if (answer) return { ...answer, isFinal: true }
  const ports = await engine.listeningPorts(run.key, signal).catch(() => undefined)
  const fault = portFault(run, ports)
  if (!fault) return undefined
  onPortFault(fault)
  return { ...fault, isFinal: ports?.length !== 0 }
}

async function lastLine({ engine }: RunsContext, { key }: RunRow, signal: AbortSignal) {
  try {
    return (await Array.fromAsync(engine.logs(key, { tail: 1, signal }))).at(-1)
  } catch {
    return undefined
  }
}
