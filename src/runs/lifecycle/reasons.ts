import { type Reason, type ReasonCode, reasonMessages } from "#contract"
import { type Engine, EngineError, type ObservedRun } from "#engine"
import type { Logger } from "#kit"

const tailBytes = 4_096
const tailLines = 200
const tailMs = 2_000

export function createReason(code: ReasonCode, msg: string = reasonMessages[code]): Reason {
  return { code, msg }
}

/** The reason of a failed start, with a text that its person may see. */
export function reasonOfError(error: unknown, logger: Logger): Reason {
  if (error instanceof EngineError) {
    if (error.detail !== undefined) logger.warn({ code: error.code, detail: error.detail }, "the engine rejected a request")
    return createReason(error.code, error.message || reasonMessages[error.code])
  }
  logger.error({ err: error }, "a start failed for an unknown reason")
  return createReason("engine_error")
}

/**
 * The reason why a started run is not running; `undefined` means that the engine has no container
 * of it.
 */
export function reasonOfExit(seen: ObservedRun | undefined): Reason {
  if (seen?.state !== "exited") return createReason("lost")
  const code = seen.oomKilled ? "oom_killed" : "exited"
  if (seen.exitCode === null) return createReason(code)
  const msg = code === "exited" ? `The program ended by itself with exit code ${seen.exitCode}` : reasonMessages.oom_killed
  return { code, msg, exitCode: seen.exitCode }
}

/**
 * Adds the last lines of output, at most 4 KiB, cut at the start of a line if possible. Waits 2 s
 * at most.
 */
export async function withLogTail(engine: Engine, key: string, why: Reason): Promise<Reason> {
  const lines: string[] = []
  try {
    for await (const line of engine.logs(key, { tail: tailLines, signal: AbortSignal.timeout(tailMs) })) lines.push(line.text)
  } catch {
    // The log tail is optional.
  }
  const logTail = lastBytes(lines.join("\n"))
  return logTail === "" ? why : { ...why, logTail }
}

function lastBytes(text: string): string {
  const bytes = Buffer.from(text.replaceAll("\0", ""))
  if (bytes.length <= tailBytes) return bytes.toString()
  const tail = bytes.subarray(bytes.length - tailBytes)
  const newline = tail.indexOf(10)
  let start = newline >= 0 && newline < tail.length - 1 ? newline + 1 : 0
  while (start < tail.length && ((tail[start] ?? 0) & 0xc0) === 0x80) start += 1
  return tail.subarray(start).toString()
}
