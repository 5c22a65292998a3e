import { http } from "#http"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { basePath, upstreamHeaders } from "../lifecycle/engine-spec.ts"
import { ruleOfType } from "../project-types.ts"

const timeoutMs = 3_000
const maxResponseCharacters = 1024 * 1024

/**
 * Whether the program itself reports that it computes, if its type can be asked. A program that
 * does not answer reports nothing.
 */
export async function isComputing(ctx: RunsContext, run: RunRow): Promise<boolean> {
  const { kernelsPath } = ruleOfType(run.spec.type)
  const address = ctx.runCache.target(run.id)?.address
  if (kernelsPath === null || !address) return false
  const answer = await fetchText({ ...address, path: basePath(run) + kernelsPath, headers: upstreamHeaders(run) }).catch(() => "[]")
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

interface ProbeRequest {
  host: string
  port: number
  path: string
  headers: Record<string, string>
}

function fetchText({ host, port, path, headers }: ProbeRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const request = http.get({ host, port, path, headers, agent: false, signal }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk
        if (text.length > maxResponseCharacters) response.destroy(new Error("The answer is too long"))
      })
      response.on("end", () => resolve(text)).on("error", reject)
    })
    // For a response that switches the protocol, Node reports only that the connection closed.
    request.on("error", reject).on("close", () => reject(new Error("The connection was closed without an answer")))
  })
}
