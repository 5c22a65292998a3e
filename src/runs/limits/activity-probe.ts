import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { basePath, upstreamHeaders } from "../lifecycle/engine-spec.ts"
import { ruleOfType } from "../project-types.ts"
import { askProgram, readHead } from "../readiness/ask-program.ts"

const timeoutMs = 3_000
const maxBytes = 1024 * 1024

/**
 * Whether the program itself reports that it computes, if its type can be asked. A program that
 * does not answer reports nothing.
 */
export async function isComputing(ctx: RunsContext, run: RunRow): Promise<boolean> {
  const { kernelsPath } = ruleOfType(run.spec.type)
  const address = ctx.runCache.target(run.id)?.address
  if (kernelsPath === null || !address) return false
  const question = { address, path: basePath(run) + kernelsPath, headers: upstreamHeaders(run), version: "1.0", maxBytes } as const
  const answer = await askProgram({ ...question, signal: AbortSignal.timeout(timeoutMs) }, bodyOf).catch(() => "[]")
  return hasBusyKernel(answer)
}

/** Reads Jupyter's list of kernels. */
function hasBusyKernel(text: string): boolean {
  try {
    const list = JSON.parse(text) as { execution_state?: unknown }[]
    return Array.isArray(list) && list.some((kernel) => kernel?.execution_state === "busy")
  } catch {
    return false
  }
}

/** The body, once the program has closed the connection. */
function bodyOf(received: Buffer, isEnd: boolean): string | undefined {
  return isEnd ? received.toString("utf8", readHead(received)?.end) : undefined
}
