import { type ReasonCode, reasonMessages } from "#contract"
import { EngineError } from "../../engine.ts"

/** A pattern, its code, and a sentence and a hint if the code's own are too vague. */
type Phrase = readonly [Pick<RegExp, "test">, ReasonCode, string?, string?]

/**
 * The maximum length of a daemon's message that is read and stored: it may contain a registry's
 * answer.
 */
const maxDetail = 8_192

/**
 * Whether the runtime reports that a program cannot be run. It scans each line once; a pattern with
 * `.*` would scan again for each occurrence of the word.
 */
const cannotRun = {
  test: (text: string) =>
    text.split("\n").some((line) => {
      const start = line.search(/exec: /i)
      return start >= 0 && /no such file or directory|permission denied|exec format error/i.test(line.slice(start))
    }),
}

/** For a full disk of the engine. */
export const freeSpaceHint = "Ask an administrator to make room on the engine's disk, such as with `docker image prune`"

const driverHint = "Start without GPUs, or ask an administrator whether `nvidia-smi` works on the machine"

/**
 * The daemon's messages, most specific first. It has codes for few of its failures, so its messages
 * must be parsed.
 */
const phrases: readonly Phrase[] = [
  [/no space left on device|disk quota exceeded/i, "disk_full", "The disk of the container engine is full", freeSpaceHint],
  [
    /device error: \S+ unknown device|unknown device id|unresolvable CDI/i,
    "insufficient_gpu",
    "The run's GPU has disappeared: NVIDIA's container runtime does not know it",
    driverHint,
  ],
  [/nvml error|driver error|libnvidia-ml|driver rpc error/i, "insufficient_gpu", "This machine's NVIDIA driver does not work", driverHint],
  [
    /could not select device driver|nvidia-container/i,
    "insufficient_gpu",
    "The container engine has no working driver for this machine's GPUs",
    "Start without GPUs, or ask an administrator to install the NVIDIA Container Toolkit",
  ],
  [
    /chdir to cwd/i,
    "image_unavailable",
    "The image cannot be used: runs may not open its working directory",
    "Make the image's `WORKDIR` readable for everybody (`RUN chmod a+rx DIRECTORY`): runs are never root",
  ],
  [/bind source path does not exist/i, "mount_missing"],
  [/executable file not found|no command specified/i, "command_not_found"],
  [cannotRun, "command_not_found"],
  [/no such image/i, "image_not_found"],
  [/daemon is shutting down|server is shutting down/i, "engine_unreachable"],
]

const unreachableCodes = new Set(["ECONNREFUSED", "ECONNRESET", "ENOENT", "EACCES", "EPIPE", "ENOTSOCK"])

/**
 * Converts any error of a daemon call into an `EngineError`; the daemon's message becomes its
 * `detail`.
 */
export function toEngineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error
  if (isUnreachable(error)) return withCode("engine_unreachable", error)
  return matchPhrase(phrases, error) ?? withCode("engine_error", error)
}

/** The HTTP status of the daemon's refusal, also of an `EngineError` made from it. */
export function httpStatusOf(error: unknown): number | undefined {
  const { statusCode, cause } = (error ?? {}) as { statusCode?: number; cause?: unknown }
  return statusCode ?? (cause === undefined ? undefined : httpStatusOf(cause))
}

/** Resolves with undefined if the daemon reports that the object does not exist. */
export async function undefinedIfNotFound<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (httpStatusOf(error) === 404) return undefined
    throw error
  }
}

/** Whether a start failed because its network was removed. */
export function isNetworkGone(error: unknown): boolean {
  return error instanceof EngineError && /network \S+ not found/i.test(error.detail ?? "")
}

/** Whether a start failed because another container has the run's address. */
export function isAddressTaken(error: unknown): boolean {
  return error instanceof EngineError && /address already in use|is already allocated/i.test(error.detail ?? "")
}

/** Whether a start failed because its network has no free address. */
export function isNetworkFull(error: unknown): boolean {
  return error instanceof EngineError && /no available (IPv4 )?addresses/i.test(error.detail ?? "")
}

const transientMessage =
  /resource temporarily unavailable|device or resource busy|xtables lock|failed to (add|create).* veth|could not find an available|error creating (external connectivity|veth)|has active endpoints|try again|interrupted system call|context deadline exceeded|text file busy/i

/** Whether the failure is temporary: the daemon or the kernel was busy. */
export function isTransient(error: unknown): boolean {
  return error instanceof EngineError && error.code === "engine_error" && transientMessage.test(error.detail ?? "")
}

/** Whether a start failed because the daemon lacks the right to raise the limit on open files. */
export function isOpenFilesLimitRefused(error: unknown): boolean {
  return error instanceof EngineError && /setting rlimit/i.test(error.detail ?? "")
}

/** Whether a container was rejected because the daemon cannot enforce its disk limit. */
export function isDiskLimitRefused(error: unknown): boolean {
  return isDiskLimitTooSmall(error) || (error instanceof EngineError && /storage[- ]opt|enabled quotas|qgroup/i.test(error.detail ?? ""))
}

/** Whether the image alone exceeds the disk limit. */
export function isDiskLimitTooSmall(error: unknown): boolean {
  return error instanceof EngineError && /quota exceeded/i.test(error.detail ?? "")
}

/**
 * Whether a network was rejected because its subnet or its name is in use, by another network or a
 * device of the host.
 */
export function isSubnetTaken(error: unknown): boolean {
  return error instanceof EngineError && /overlaps with|already exists|conflicts with network/i.test(error.detail ?? "")
}

/** Whether the daemon did not answer, or said that it shuts down. */
export function isUnreachable(error: unknown): boolean {
  const { code, statusCode, message = "" } = error as { code?: string; statusCode?: number; message?: string }
  if (statusCode !== undefined) return statusCode === 503
  return unreachableCodes.has(code ?? "") || /^(socket hang up|aborted)$/.test(message)
}

function matchPhrase(table: readonly Phrase[], error: unknown): EngineError | undefined {
  const text = detailOf(error)
  const found = table.find(([phrase]) => phrase.test(text))
  return found && withCode(found[1], error, found[2], found[3])
}

function withCode(code: ReasonCode, error: unknown, sentence: string = reasonMessages[code], hint?: string): EngineError {
  return new EngineError(code, sentence, { detail: detailOf(error), hint, cause: error })
}

/** The daemon's own words. */
export function detailOf(error: unknown): string {
  if (error instanceof EngineError) return error.detail ?? error.message
  return (error instanceof Error ? error.message.trim() : String(error)).slice(0, maxDetail)
}
