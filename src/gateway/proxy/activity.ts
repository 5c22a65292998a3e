import type { IncomingHttpHeaders } from "node:http"
import type { Clock } from "#kit"

/** A GET that was sent within this time before is a poll of a page. */
const pollWindowMs = 15 * 60_000
/** Addresses for which each run's last GET is remembered. */
const rememberedGets = 256

interface RunActivity {
  reportedAt: number
  /** When each address was last read, by its hash; the oldest first. */
  gets: Map<number, number>
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
  reportRequest(runId: number, request: { method: string; path: string; headers: IncomingHttpHeaders }): void {
    if (this.isReported(runId)) return
    if (isSentByPerson(request) || !this.#recordGet(this.#of(runId), request.path)) this.report(runId)
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
    if (gets.size > rememberedGets) gets.delete(gets.keys().next().value ?? key)
    return before !== undefined && now - before < pollWindowMs
  }
}

/** Whether the request changes something or opens a page; pages poll by GET. */
function isSentByPerson({ method, headers }: { method: string; headers: IncomingHttpHeaders }): boolean {
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
