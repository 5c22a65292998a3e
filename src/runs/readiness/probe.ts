import { randomBytes } from "node:crypto"
import { bounds } from "#contract"
import type { RunAddress } from "#engine"
import type { ReadinessCheck } from "../project-types.ts"
import { fetchFromProgram, NoResponseError, parseResponseStatus } from "./fetch-from-program.ts"

export interface ProbeTarget {
  address: RunAddress
  /** The program's base path, with a slash at both ends. */
  base: string
  headers: Readonly<Record<string, string>>
  readiness: ReadinessCheck
  /** The deadline of one attempt. */
  timeoutMs: number
}

export type ProbeResult =
  | { ready: true }
  | { ready: false; code: "port_not_open" }
  | { ready: false; code: "not_answering"; detail: string; status?: number | undefined }

/** Probes once whether the program is ready. Rejects only with the signal's reason. */
export async function probe(target: ProbeTarget, signal: AbortSignal): Promise<ProbeResult> {
  signal.throwIfAborted()
  using stop = abortAfter(target.timeoutMs, signal)
  const { readiness } = target
  const result = await (readiness.kind === "http"
    ? probeHttp(target, readiness, stop.signal)
    : probeWebSocket(target, readiness, stop.signal))
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

const { interimAnswers } = bounds.gateway
const ready: ProbeResult = { ready: true }
const notAnswering = (detail: string, status?: number): ProbeResult => ({ ready: false, code: "not_answering", detail, status })
const notOpen: ProbeResult = { ready: false, code: "port_not_open" }

type ReadinessOf<Kind extends ReadinessCheck["kind"]> = Extract<ReadinessCheck, { kind: Kind }>

async function probeHttp(
  { address, base, headers }: ProbeTarget,
  readiness: ReadinessOf<"http">,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const path = base + readiness.path
  try {
    const status = await fetchFromProgram({ address, path, headers, signal }, (received) => parseResponseStatus(received)?.status)
    if (status === 101) return notAnswering(`GET ${path} was not answered`)
    const isAccepted = readiness.accepts === "200" ? status === 200 : status < 500
    return isAccepted ? ready : notAnswering(`GET ${path} was answered with status ${status}`, status)
  } catch (error) {
    return isPortOpen(error) ? notAnswering(`GET ${path} was not answered`) : notOpen
  }
}

async function probeWebSocket(
  { address, base, headers }: ProbeTarget,
  readiness: ReadinessOf<"websocket">,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const path = base + readiness.path
  let isOpen = false
  const read = (received: Buffer): ProbeResult | undefined => {
    const head = parseResponseStatus(received)
    if (head && head.status !== 101) return notAnswering(`the WebSocket at ${path} was refused with status ${head.status}`, head.status)
    isOpen ||= head !== undefined
    const banner = head && messageBeginning(received.subarray(head.end), readiness.banner.length)
    if (banner === undefined) return undefined
    return banner === readiness.banner ? ready : notAnswering(`the WebSocket at ${path} did not greet with ${readiness.banner.trim()}`)
  }
  try {
    return await fetchFromProgram({ address, path, headers: { ...headers, ...upgradeHeaders() }, signal }, read)
  } catch (error) {
    if (!isPortOpen(error)) return notOpen
    return notAnswering(isOpen ? `the WebSocket at ${path} said nothing` : `the WebSocket at ${path} did not open`)
  }
}

function isPortOpen(error: unknown): boolean {
  return !(error instanceof NoResponseError) || error.isConnected
}

function upgradeHeaders() {
  const key = randomBytes(16).toString("base64")
  return { Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key }
}

const extendedLengthBytes: Readonly<Record<number, number>> = { 126: 2, 127: 8 }

/** The first characters of the first message; a few control frames before it are skipped. */
function messageBeginning(frames: Buffer, characters: number): string | undefined {
  for (let at = 0, controls = 0; at + 2 <= frames.length; controls += 1) {
    if (controls > interimAnswers.value) throw new Error("it sends only control frames")
    const isControl = (frames.readUInt8(at) & 0x08) !== 0
    const length = frames.readUInt8(at + 1) & 0x7f
    const payload = at + 2 + (extendedLengthBytes[length] ?? 0)
    const wanted = Math.min(length, characters)
    if (!isControl) return payload + wanted <= frames.length ? frames.toString("latin1", payload, payload + wanted) : undefined
    at = payload + length
  }
  return undefined
}
