import type { Address } from "#engine"
import { abortable } from "#kit"
import type { RunRow } from "#store"
import type { Context } from "./context.ts"
import { type ProbeResult, probe } from "./probe.ts"
import { basePath, portOf, upstreamHeaders } from "./spec.ts"
import { typeRule } from "./types.ts"

const longestAttempt = 3_000
/**
 * An engine may give another address once the program listens; asking costs more than trying the
 * port.
 */
const addressMs = 250

export interface Patience {
  /** Told what each attempt found, so that whoever loses patience can say why. */
  found(result: ProbeResult): void
  signal: AbortSignal
}

/**
 * So many are asked at full pace; more share it, so that a hundred starts at once do not spend the
 * processor on questions.
 */
const together = 5

/**
 * Resolves with the program's address as soon as it answers as its type should. Rejects with the
 * signal's reason, or when the engine cannot be asked for the address.
 */
export async function untilReady(ctx: Context, run: RunRow, patience: Patience): Promise<Address> {
  ctx.probing.count += 1
  try {
    return await ask(ctx, run, patience)
  } finally {
    ctx.probing.count -= 1
  }
}

async function ask(ctx: Context, run: RunRow, { found, signal }: Patience): Promise<Address> {
  const { clock, engine } = ctx
  const timeoutMs = Math.min(longestAttempt, ctx.settings.timeouts.starting / 3)
  const target = { base: basePath(run), headers: upstreamHeaders(run), readiness: typeRule(run.spec.type).ready, timeoutMs }
  const began = clock.now()
  let asked = began
  let address = await engine.address(run.key, portOf(run), signal)
  for (;;) {
    if (address) {
      const at = address
      const asked = ctx.probing.turns.run(run.userId, () => probe({ ...target, address: at }, signal))
      const result = await abortable(asked, signal)
      if (result.ready) return address
      found(result)
    } else ctx.observeSoon()
    await clock.sleep(pause(clock.now() - began) * Math.max(1, ctx.probing.count / together), signal)
    if (clock.now() - asked < addressMs) continue
    asked = clock.now()
    address = await engine.address(run.key, portOf(run), signal)
  }
}

/**
 * Short at first: what a person waits for is the program's own start and, on average, half of this.
 */
function pause(elapsed: number): number {
  if (elapsed < 3_000) return 20
  return elapsed < 20_000 ? 50 : 250
}
