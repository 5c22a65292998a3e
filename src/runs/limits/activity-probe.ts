import type { RunAddress } from "#engine"
import { HeavyWorkQueue } from "#kit"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { basePath, upstreamHeaders } from "../lifecycle/engine-spec.ts"
import { ruleOfType } from "../project-types.ts"
import { fetchFromProgram, parseResponseStatus } from "../readiness/fetch-from-program.ts"

const timeoutMs = 3_000
/** About a thousand kernels. */
const maxBytes = 256 * 1024
/** A person's programs may all answer at once, with lists that take milliseconds to parse. */
const turns = new HeavyWorkQueue()

/** The services of a probe; the cache gives the run's address. */
type ProbeContext = Pick<RunsContext, "clock" | "logger"> & {
  runCache: { target(id: number): { address?: Pick<RunAddress, "host" | "port"> | undefined } | undefined }
}

/**
 * Milliseconds since the program last computed, by its own report: 0 while it does. Infinity: it
 * never did, or its type cannot be asked. Undefined: it gave no usable answer, so it may compute.
 */
export async function probeIdleMs(ctx: ProbeContext, run: RunRow): Promise<number | undefined> {
  const { kernelsPath } = ruleOfType(run.spec.type)
  if (kernelsPath === null) return Number.POSITIVE_INFINITY
  const address = ctx.runCache.target(run.id)?.address
  if (!address) return undefined
  const question = { address, path: basePath(run) + kernelsPath, headers: upstreamHeaders(run), version: "1.0", maxBytes } as const
  try {
    const text = await fetchFromProgram({ ...question, signal: AbortSignal.timeout(timeoutMs) }, bodyOf)
    return await turns.run(run.userId, () => idleMsOfKernels(JSON.parse(text), ctx.clock.now()))
  } catch (err) {
    ctx.logger.debug({ err, run: run.id }, "a run's kernels could not be listed")
    return undefined
  }
}

/** Reads Jupyter's list of kernels. */
function idleMsOfKernels(list: unknown, now: number): number | undefined {
  if (!Array.isArray(list)) return undefined
  let idleMs = Number.POSITIVE_INFINITY
  for (const kernel of list as { execution_state?: unknown; last_activity?: unknown }[]) {
    if (typeof kernel?.execution_state !== "string") return undefined
    if (kernel.execution_state === "busy") return 0
    const lastActivity = Date.parse(String(kernel.last_activity))
    if (!Number.isNaN(lastActivity)) idleMs = Math.min(idleMs, Math.max(0, now - lastActivity))
  }
  return idleMs
}

/** The body, once the program has closed the connection. */
function bodyOf(received: Buffer, isEnd: boolean): string | undefined {
  if (!isEnd) return undefined
  const head = parseResponseStatus(received)
  if (head?.status !== 200) throw new Error(`Status 200 is expected; got ${head?.status ?? "no answer"}`)
  return received.toString("utf8", head.end)
}
