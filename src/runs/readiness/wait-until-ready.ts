import type { RunAddress } from "#engine"
import { abortable } from "#kit"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { basePath, portOf, upstreamHeaders } from "../lifecycle/engine-spec.ts"
import { ruleOfType } from "../project-types.ts"
import type { ProbeResult } from "./probe.ts"

const maxProbeMs = 3_000
/** The engine may change the address when the program listens; a lookup costs more than a probe. */
const addressEveryMs = 250

export interface ReadinessOptions {
  /** Called with the result of each probe, to explain a timeout. */
  onProbe(result: ProbeResult): void
  signal: AbortSignal
}

/**
 * Programs that are probed at the full rate. More programs share it, so that many starts do not use
 * up the processor.
 */
const fullRateProbes = 5

/**
 * Resolves with the address of the program once its probe succeeds. Rejects with the signal's
 * reason, or when the engine cannot look up the address.
 */
export async function waitUntilReady(ctx: RunsContext, run: RunRow, options: ReadinessOptions): Promise<RunAddress> {
  using _starting = ctx.probes.programs.add(run.userId)
  return await probeUntilReady(ctx, run, options)
}

async function probeUntilReady(ctx: RunsContext, run: RunRow, { onProbe, signal }: ReadinessOptions): Promise<RunAddress> {
  const { clock, engine } = ctx
  const timeoutMs = Math.min(maxProbeMs, ctx.settings.timeoutsMs.starting / 3)
  const target = { base: basePath(run), headers: upstreamHeaders(run), readiness: ruleOfType(run.spec.type).readiness, timeoutMs }
  const startedAt = clock.now()
  let lookedUpAt = startedAt
  let address = await engine.address(run.key, portOf(run), signal)
  for (;;) {
    if (address) {
      const at = address
      const probing = ctx.probes.limiter.run(run.userId, () => ctx.probe({ ...target, address: at }, signal))
      const result = await abortable(probing, signal)
      if (result.ready) return address
      onProbe(result)
    } else ctx.scheduleObservation()
    await clock.sleep(probeIntervalMs(clock.now() - startedAt) * ctx.probes.programs.slowdownOf(run.userId, fullRateProbes), signal)
    if (clock.now() - lookedUpAt < addressEveryMs) continue
    lookedUpAt = clock.now()
    address = await engine.address(run.key, portOf(run), signal)
  }
}

/** Short at first, since a person waits for the program's start plus half of this on average. */
function probeIntervalMs(elapsedMs: number): number {
  if (elapsedMs < 3_000) return 20
  return elapsedMs < 20_000 ? 50 : 250
}
