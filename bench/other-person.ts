// A thread of its own for bench/hostile.ts: somebody who is signed in sends a request every 20 ms.
// In the thread of the attack, its work would count as the answer's time.
import { parentPort, workerData } from "node:worker_threads"

/** What is sent, and for how many seconds. */
export interface Questions {
  url: string
  method: "GET" | "PUT"
  headers: Record<string, string>
  seconds: number
}

/** In milliseconds; `failed` counts answers other than 2xx and broken connections. */
export interface Figures {
  p95: number
  slowest: number
  failed: number
}

const { url, method, headers, seconds } = workerData as Questions
const times: number[] = []
let failed = 0
const until = performance.now() + seconds * 1_000
while (performance.now() < until) {
  const began = performance.now()
  const isRight = await fetch(url, { method, headers, ...(method === "PUT" ? { body: "x".repeat(1_024) } : {}) }).then(
    async (response) => (await response.arrayBuffer()) && response.ok,
    () => false,
  )
  if (!isRight) failed += 1
  times.push(performance.now() - began)
  await new Promise((resolve) => setTimeout(resolve, 20))
}
const sorted = times.toSorted((a, b) => a - b)
parentPort?.postMessage({ p95: sorted[Math.floor(sorted.length * 0.95)] ?? 0, slowest: sorted.at(-1) ?? 0, failed } satisfies Figures)
