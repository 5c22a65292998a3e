import { constants } from "node:os"
import { bounds, type Reason, type ReasonCode, reasonMessages } from "#contract"
import { type Engine, EngineError, type ObservedRun } from "#engine"
import { type Clock, deadline, type Logger } from "#kit"
import type { RunRow } from "#store"
import { portOf } from "./engine-spec.ts"

const tailBytes = bounds.runs.reasonLogBytes.value
const tailLines = bounds.runs.reasonLines.value
const tailMs = 10_000
/** The codes with which shells report a program that is not executable, or missing. */
const notExecutable = 126
const notFound = 127

export function createReason(code: ReasonCode, msg: string = reasonMessages[code], hint?: string): Reason {
  return hint === undefined ? { code, msg } : { code, msg, hint }
}

/** The reason of a failed start, with a text that its person may see. */
export function reasonOfError(error: unknown, logger: Logger): Reason {
  if (error instanceof EngineError) {
    if (error.detail !== undefined) logger.warn({ code: error.code, detail: error.detail }, "the engine rejected a request")
    return createReason(error.code, error.message || reasonMessages[error.code], error.hint)
  }
  logger.error({ err: error }, "a start failed for an unknown reason")
  return createReason("engine_error")
}

/**
 * The reason why a started run is not running; `undefined` means that the engine has no container
 * of it.
 */
export function reasonOfExit(seen: ObservedRun | undefined, run: RunRow): Reason {
  if (seen?.state !== "exited") return createReason("lost")
  const { exitCode, cause } = seen
  if (cause) return createReason(cause.code, cause.msg)
  const found = seen.oomKilled ? memoryReason(run) : exitReason(exitCode, run)
  const reason = seen.endedRank === undefined ? found : { ...found, msg: `Rank ${seen.endedRank}: ${found.msg}` }
  return exitCode === null ? reason : { ...reason, exitCode }
}

function memoryReason({ memoryMiB }: RunRow): Reason {
  const hint = `Start the project with more than ${memoryMiB} MiB of memory, or let the program load less at once`
  return createReason("oom_killed", `The program used more memory than its ${memoryMiB} MiB and was killed`, hint)
}

function exitReason(exitCode: number | null, run: RunRow): Reason {
  if (exitCode === null) return createReason("exited")
  const msg = `${programOf(run)} ended by itself with exit code ${exitCode}${exitMeaning(exitCode)}`
  if (exitCode === 0) {
    const hint = `A project needs a program that goes on and answers on port ${portOf(run)}: start such a one with the image's Command`
    return createReason("exited", msg, hint)
  }
  return createReason("exited", msg)
}

/** The signals' names are those of the system's manual, such as SIGSEGV. */
function exitMeaning(exitCode: number): string {
  if (exitCode === 0) return ", as a program does whose work is done"
  if (exitCode === notExecutable) return ": a program that it started is not executable"
  if (exitCode === notFound) return ": a program that it started was not found"
  const signal = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0]
  return signal === undefined ? "" : ` (${signal})`
}

function programOf({ spec }: RunRow): string {
  const program = spec.command?.[0]
  return program === undefined ? `The program of the image ${spec.image}` : `The program ${JSON.stringify(program.slice(0, 100))}`
}

/**
 * Adds the last lines of output, cut at the start of a line if possible. Waits 10 s at most.
 */
export async function withLogTail(
  { engine, clock }: { engine: Pick<Engine, "logs">; clock: Clock },
  key: string,
  why: Reason,
): Promise<Reason> {
  const lines: string[] = []
  try {
    using late = deadline(tailMs, "Reading the output", undefined, clock)
    for await (const line of engine.logs(key, { tail: tailLines, signal: late })) lines.push(line.text)
  } catch {
    // The log tail is optional.
  }
  const logTail = lastBytes(lines.slice(-tailLines).join("\n"))
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
