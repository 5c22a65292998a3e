// Preloaded by processes that are measured: counts what they ask the API server of a cluster, by
// verb and resource, and the milliseconds of the longest time in which the event loop stood still.
// It keeps them in a file with the process's number as its name.
// Environment: BENCH_REQUESTS_DIR, BENCH_API_SERVER (its origin).
import { subscribe } from "node:diagnostics_channel"
import { renameSync, writeFileSync } from "node:fs"
import type { ClientRequest } from "node:http"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"

const { BENCH_REQUESTS_DIR: folder = "", BENCH_API_SERVER: server = "" } = process.env
const everyMs = 500
const sums: Record<string, number> = {}
const delays = monitorEventLoopDelay({ resolution: 20 })
delays.enable()

function count(method: string, path: string): void {
  const { pathname, searchParams } = new URL(path, server)
  const [, resource = pathname, name, part] =
    /^\/apis?\/(?:[^/]+\/)?v1\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+)(?:\/([a-z]+))?)?$/.exec(pathname) ?? []
  const isList = method === "GET" && name === undefined
  const verb = searchParams.has("watch") ? "watch" : isList ? "list" : method.toLowerCase()
  const what = `${verb} ${part === undefined ? resource : `${resource}/${part}`}`
  sums[what] = (sums[what] ?? 0) + 1
}

subscribe("undici:request:create", (message) => {
  const { request } = message as { request: { origin: string | URL; method: string; path: string } }
  if (String(request.origin).startsWith(server)) count(request.method, request.path)
})
subscribe("http.client.request.start", (message) => {
  const { request } = message as { request: ClientRequest }
  if (`${request.protocol}//${request.getHeader("host")}` === server) count(request.method, request.path)
})
/** An idle process stays idle: V8 makes its heap smaller only then. */
let written = ""
setInterval(() => {
  const figures = JSON.stringify({ sums, longestMs: Math.round(delays.max / 1e6) })
  if (figures === written) return
  const file = join(folder, String(process.pid))
  writeFileSync(`${file}.new`, figures)
  renameSync(`${file}.new`, file)
  written = figures
}, everyMs).unref()
