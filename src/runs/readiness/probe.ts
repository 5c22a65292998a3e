import type { Address } from "#engine"
import { http } from "#http"
import type { Readiness } from "../project-types.ts"

export interface ProbeTarget {
  address: Address
  /** The program's base path, with a slash at both ends. */
  base: string
  headers: Readonly<Record<string, string>>
  readiness: Readiness
  /** The deadline of one attempt. */
  timeoutMs: number
}

export type ProbeResult =
  | { ready: true }
  | { ready: false; code: "port_not_open" }
  | { ready: false; code: "not_answering"; detail: string }

/** Probes once whether the program is ready. Rejects only with the signal's reason. */
export async function probe(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
  signal.throwIfAborted()
  using stop = abortAfter(target.timeoutMs, signal)
  const result = await (target.readiness.kind === "http" ? probeHttp(target, stop.signal) : probeWebSocket(target, stop.signal))
  signal.throwIfAborted()
  return result
}

function abortAfter(ms: number, signal: AbortSignal): { signal: AbortSignal } & Disposable {
  const controller = new AbortController()
  const abort = () => controller.abort()
  const timer = setTimeout(abort, ms)
  signal.addEventListener("abort", abort, { once: true })
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      clearTimeout(timer)
      signal.removeEventListener("abort", abort)
    },
  }
}

const ready: ProbeResult = { ready: true }
const notAnswering = (detail: string): ProbeResult => ({ ready: false, code: "not_answering", detail })
const notOpen: ProbeResult = { ready: false, code: "port_not_open" }

function probeHttp({ address, base, headers, readiness }: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve) => {
    let isConnected = false
    const path = base + readiness.path
    const request = http.get(
      { host: address.host, port: address.port, path, headers: { ...headers }, agent: false, signal },
      (response) => {
        const status = response.statusCode ?? 0
        const accepted = readiness.kind === "http" && readiness.accepts === "200" ? status === 200 : status < 500
        resolve(accepted ? ready : notAnswering(`GET ${path} was answered with status ${status}`))
        response.destroy()
      },
    )
    request.on("socket", (socket) => socket.once("connect", () => (isConnected = true)))
    const fail = () => resolve(isConnected ? notAnswering(`GET ${path} was not answered`) : notOpen)
    // For a response that switches the protocol, Node reports only that the connection closed.
    request.on("error", fail).on("close", fail)
  })
}

async function probeWebSocket({ address, base, headers, readiness }: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
  const host = address.host.includes(":") ? `[${address.host}]` : address.host
  const path = base + readiness.path
  const banner = readiness.kind === "websocket" ? readiness.banner : ""
  // Imported late, since most installations never need it.
  const { WebSocket } = await import("ws")
  const socket = new WebSocket(`ws://${host}:${address.port}${path}`, {
    headers: { ...headers },
    perMessageDeflate: false,
    maxPayload: 65_536,
  })
  return new Promise<ProbeResult>((resolve) => {
    let isOpen = false
    const fail = () => resolve(notAnswering(isOpen ? `The WebSocket at ${path} said nothing` : `The WebSocket at ${path} did not open`))
    signal.addEventListener("abort", fail, { once: true })
    socket.on("open", () => (isOpen = true))
    socket.on("unexpected-response", (_, response) =>
      resolve(notAnswering(`The WebSocket at ${path} was refused with status ${response.statusCode}`)),
    )
    socket.on("message", (data) => {
      const matches = data.toString().startsWith(banner)
      resolve(matches ? ready : notAnswering(`The WebSocket at ${path} did not greet with ${banner.trim()}`))
    })
    socket.on("close", fail)
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(unreachable.has(error.code ?? "") ? notOpen : notAnswering(error.message)))
  }).finally(() => socket.terminate())
}

const unreachable = new Set(["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"])
