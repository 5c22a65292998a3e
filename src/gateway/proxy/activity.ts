import type { IncomingHttpHeaders } from "node:http"
import type { Clock } from "#kit"
import type { RunTarget } from "../run-directory.ts"

/** A GET that was sent within this time before is a poll of a page. */
const pollWindowMs = 15 * 60_000
/** Addresses for which each run's last GET is remembered. */
const maxRememberedGets = 256

interface RunActivity {
  reportedAt: number
  /** When each address was last read, by its hash; the oldest first. */
  gets: Map<number, number>
}

type ActiveRun = Pick<RunTarget, "id" | "webSocketProtocol">

interface ProgramRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
}

/** Reports use of a run by people, at most once a second for each run. */
export class ActivityReporter {
  readonly #clock: Clock
  readonly #recordActivity: (runId: number) => void
  readonly #runs = new Map<number, RunActivity>()

  constructor(options: { clock: Clock; recordActivity: (runId: number) => void }) {
    this.#clock = options.clock
    this.#recordActivity = options.recordActivity
  }

  report(runId: number): void {
    const now = this.#clock.monotonic()
    const run = this.#of(runId)
    if (now - run.reportedAt < 1_000) return
    run.reportedAt = now
    this.#recordActivity(runId)
  }

  /** Whether a further report would change nothing. */
  isReported(runId: number): boolean {
    return this.#clock.monotonic() - this.#of(runId).reportedAt < 1_000
  }

  /** Reports the request unless a page sent it by itself. */
  reportRequest({ id, webSocketProtocol }: ActiveRun, request: ProgramRequest): void {
    if (isCode(request) || (webSocketProtocol === "jupyter" && isLayoutSave(request))) return
    if (isSentByPerson(request) || !this.#recordGet(this.#of(id), request.path)) this.report(id)
  }

  /** Drops runs that have ended. */
  retainOnly(isLive: (runId: number) => boolean): void {
    for (const runId of this.#runs.keys()) if (!isLive(runId)) this.#runs.delete(runId)
  }

  #of(runId: number): RunActivity {
    const known = this.#runs.get(runId)
    if (known) return known
    const run = { reportedAt: Number.NEGATIVE_INFINITY, gets: new Map<number, number>() }
    this.#runs.set(runId, run)
    return run
  }

  /** True if the path was requested shortly before: a page polls it. */
  #recordGet({ gets }: RunActivity, path: string): boolean {
    const now = this.#clock.monotonic()
    const key = hashOf(path)
    const before = gets.get(key)
    gets.delete(key)
    gets.set(key, now)
    if (gets.size > maxRememberedGets) gets.delete(gets.keys().next().value ?? key)
    return before !== undefined && now - before < pollWindowMs
  }
}

/** Whether a page loads a part of its own code, which it also does to show a notice. */
function isCode({ method, path, headers }: ProgramRequest): boolean {
  const kind = headers["sec-fetch-dest"]
  // Without TLS, browsers say only to localhost what they load.
  return method === "GET" && (kind === undefined ? /^[^?]*\.(?:m?js|css|woff2?)(?:\?|$)/.test(path) : /^(?:script|style|font)$/.test(kind))
}

/** JupyterLab 4 saves the layout of its window every 10 s, even if nobody changed it. */
function isLayoutSave({ method, path }: ProgramRequest): boolean {
  return method === "PUT" && /^[^?]*\/api\/workspaces\//.test(path)
}

/** Whether the request changes something or opens a page; pages poll by GET. */
function isSentByPerson({ method, headers }: ProgramRequest): boolean {
  if (headers.upgrade !== undefined) return false
  if (method !== "GET" && method !== "HEAD" && method !== "OPTIONS") return true
  if (headers["sec-fetch-mode"] === "navigate") return headers["sec-fetch-user"] === "?1"
  return headers["sec-fetch-mode"] === undefined && headers.accept?.startsWith("text/html") === true
}

/** Hashes a path (FNV-1a) without numbers of ten digits and more: pages add the time. */
function hashOf(path: string): number {
  let hash = 0x811c9dc5
  let digits = 0
  for (let i = 0; i < path.length; i += 1) {
    const code = path.charCodeAt(i)
    if (code >= 48 && code <= 57 && digits < 10) digits = countDigits(path, i)
    else if (code < 48 || code > 57) digits = 0
    if (digits < 10) hash = Math.imul(hash ^ code, 0x01000193)
  }
  return hash
}

/** The digits from a place on; ten count as any number. */
function countDigits(path: string, from: number): number {
  let end = from
  while (end - from < 10 && path.charCodeAt(end) >= 48 && path.charCodeAt(end) <= 57) end += 1
  return end - from
}
