import type { ServerResponse } from "node:http"
import { performance } from "node:perf_hooks"
import { runStateNames } from "#contract"
import type { Services } from "./context.ts"

/** Upper bounds of the histogram in seconds. */
const bucketBounds = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60]

/** nginx's status for a response that ended before it was sent completely. */
const abortedStatus = 499

interface Row {
  operation: string
  status: number
  count: number
}

interface Durations {
  buckets: number[]
  sum: number
  count: number
}

/** Counts requests by operation, never by what people sent. */
export class RequestMetrics {
  readonly #rows = new Map<string, Row[]>()
  readonly #durations: Durations = { buckets: bucketBounds.map(() => 0), sum: 0, count: 0 }

  /**
   * Counts a request when its response was sent or cut short. An event stream has no end, so it
   * counts once it has begun.
   */
  observe(response: ServerResponse, operation: string, started: number): void {
    let isSent = false
    const count = (status: number) => this.#count(operation, status, (performance.now() - started) / 1_000)
    response.on("finish", () => {
      isSent = true
      count(response.statusCode)
    })
    response.on("close", () => {
      if (!isSent) count(abortedStatus)
    })
  }

  #count(operation: string, status: number, seconds: number): void {
    const rows = this.#rows.get(operation) ?? this.#add(operation)
    const row = rows.find((each) => each.status === status)
    if (row) row.count += 1
    else rows.push({ operation, status, count: 1 })
    const bucket = bucketBounds.findIndex((bound) => seconds <= bound)
    if (bucket >= 0) this.#durations.buckets[bucket] = (this.#durations.buckets[bucket] ?? 0) + 1
    this.#durations.sum += seconds
    this.#durations.count += 1
  }

  #add(operation: string): Row[] {
    const rows: Row[] = []
    this.#rows.set(operation, rows)
    return rows
  }

  /** OpenMetrics text. */
  text({ runs }: Pick<Services, "runs">, pendingRequests: number): string {
    const states = runs.targets().map((run) => run.state)
    const { rss, heapUsed } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    const seconds = (microseconds: number) => String(microseconds / 1e6)
    return [
      ...family(
        "quayside_http_requests",
        "counter",
        "Requests by operation and status; 499: the answer was cut short, mostly since the caller went away.",
        this.#requests(),
      ),
      ...family("quayside_http_request_seconds", "histogram", "From a request's head to the end of its answer.", this.#histogram()),
      ...family("quayside_http_requests_under_way", "gauge", "Requests that are not answered yet.", [["", String(pendingRequests)]]),
      ...family(
        "quayside_runs",
        "gauge",
        "Live runs by state.",
        runStateNames.slice(0, 6).map((name) => [`{state="${name}"}`, String(states.filter((state) => state === name).length)]),
      ),
      ...family("process_cpu_seconds", "counter", "Processor time of this process.", [["_total", seconds(user + system)]]),
      ...family("process_resident_memory_bytes", "gauge", "Memory of this process.", [["", String(rss)]]),
      ...family("quayside_heap_bytes", "gauge", "Memory in use by JavaScript objects.", [["", String(heapUsed)]]),
      ...family("quayside_event_loop_utilization", "gauge", "The part of its time that the event loop was at work.", [
        ["", String(performance.eventLoopUtilization().utilization)],
      ]),
      "# EOF",
      "",
    ].join("\n")
  }

  #requests(): [string, string][] {
    const rows = [...this.#rows.values()].flat()
    return rows.map(({ operation, status, count }) => [`_total{operation="${operation}",status="${status}"}`, String(count)])
  }

  #histogram(): [string, string][] {
    let below = 0
    const { buckets, sum, count } = this.#durations
    const lines = buckets.map((n, i): [string, string] => {
      below += n
      return [`_bucket{le="${bucketBounds[i]}"}`, String(below)]
    })
    return [...lines, ['_bucket{le="+Inf"}', String(count)], ["_count", String(count)], ["_sum", String(sum)]]
  }
}

function family(name: string, type: string, help: string, samples: [suffix: string, value: string][]): string[] {
  return [`# TYPE ${name} ${type}`, `# HELP ${name} ${help}`, ...samples.map(([suffix, value]) => `${name}${suffix} ${value}`)]
}
