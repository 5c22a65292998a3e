// A thread for bench/hostile.ts in which a signed-in person sends a request every 20 ms. In the
// attack's own thread, the attack's work would count as response time.
import { setPriority } from "node:os"
import { parentPort, workerData } from "node:worker_threads"

/** The requests, and for how many seconds to send them. */
export interface Questions {
  url: string
  method: "GET" | "PUT"
  headers: Record<string, string>
  seconds: number
}

/** Latencies in milliseconds; `failed` counts responses other than 2xx and broken connections. */
export interface Figures {
  p95: number
  slowest: number
  failed: number
}

// On Linux a thread starts with the priority of the one that starts it, and this sets its own.
setPriority(0)
const { url, method, headers, seconds } = workerData as Questions
const times: number[] = []
let failed = 0
const until = performance.now() + seconds * 1_000
while (performance.now() < until) {
  const startedAt = performance.now()
  const isRight = await fetch(url, { method, headers, ...(method === "PUT" ? { body: "x".repeat(1_024) } : {}) }).then(
    async (response) => (await response.arrayBuffer()) && response.ok,
    () => false,
  )
  if (!isRight) failed += 1
  times.push(performance.now() - startedAt)
  await new Promise((resolve) => setTimeout(resolve, 20))
}
const sorted = times.toSorted((a, b) => a - b)
parentPort?.postMessage({ p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, slowest: sorted.at(-1) ?? 0, failed } satisfies Figures)
