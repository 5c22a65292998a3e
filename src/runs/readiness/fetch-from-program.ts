import { connect } from "node:net"
import { bounds } from "#contract"
import type { RunAddress } from "#engine"

const { interimAnswers, answerHeadBytes } = bounds.gateway
const headEnd = "\r\n\r\n"

export interface ProgramRequest {
  address: Pick<RunAddress, "host" | "port">
  path: string
  headers: Readonly<Record<string, string>>
  /** With 1.0 a body ends with the connection. Default 1.1. */
  version?: "1.0" | "1.1"
  /** The most bytes of an answer. Default: as many as a head may have. */
  maxBytes?: number
  signal: AbortSignal
}

/** The program gave no usable answer. */
export class NoResponseError extends Error {
  /** Whether the program accepted the connection. */
  readonly isConnected: boolean

  constructor(message: string, { isConnected }: { isConnected: boolean }) {
    super(message)
    this.isConnected = isConnected
  }
}

/**
 * Sends a GET request to a run's program. Resolves with the first result of `read`, which gets all
 * bytes so far after each arrival, and at the end. Rejects with `NoResponseError`.
 *
 * Node's own client parses every interim answer that a program sends, thousands in one turn of the
 * event loop, and so delays everybody. This one stops after `maxBytes`.
 */
export function fetchFromProgram<T>(question: ProgramRequest, read: (received: Buffer, isEnd: boolean) => T | undefined): Promise<T> {
  const { address, signal, maxBytes = answerHeadBytes.value } = question
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.allocUnsafeSlow(4_096)
    let length = 0
    let isConnected = false
    const fail = (message: string) => {
      reject(new NoResponseError(message, { isConnected }))
      socket.destroy()
    }
    const tryRead = (isEnd: boolean) => {
      try {
        const result = read(received.subarray(0, length), isEnd)
        if (result === undefined) return !isEnd || fail("the connection was closed")
        resolve(result)
        socket.destroy()
      } catch (error) {
        fail((error as Error).message)
      }
    }
    const take = (size: number, chunk: Uint8Array) => {
      if (length + size > maxBytes) fail(`it has more than ${maxBytes} bytes`)
      else {
        received = withRoom(received, length, size)
        received.set(chunk.subarray(0, size), length)
        length += size
        tryRead(false)
      }
      return !socket.destroyed
    }
    const onread = { buffer: Buffer.allocUnsafeSlow(16_384), callback: take }
    const socket = connect({ host: address.host, port: address.port, signal, onread })
    socket.on("connect", () => {
      isConnected = true
      socket.write(requestHead(question))
    })
    socket.on("end", () => tryRead(true))
    socket.on("error", (error) => fail(error.message))
    socket.on("close", () => fail("the connection was closed"))
  })
}

/** Doubles, so that an answer in single bytes costs its length. */
function withRoom(buffer: Buffer, length: number, size: number): Buffer {
  if (length + size <= buffer.length) return buffer
  const grown = Buffer.allocUnsafeSlow(Math.max(2 * buffer.length, length + size))
  buffer.copy(grown, 0, 0, length)
  return grown
}

function requestHead({ address: { host, port }, path, headers, version = "1.1" }: ProgramRequest): string {
  const name = host.includes(":") ? `[${host}]` : host
  const fields = { Host: `${name}:${port}`, Connection: "close", ...headers }
  const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}`)
  return `GET ${path} HTTP/${version}\r\n${lines.join("\r\n")}${headEnd}`
}

/** The first head that is not interim; undefined until it has arrived. Throws if it is not HTTP. */
export function parseResponseStatus(received: Buffer): { status: number; end: number } | undefined {
  let from = 0
  for (let interims = 0; interims <= interimAnswers.value; interims += 1) {
    const end = received.indexOf(headEnd, from, "latin1")
    if (end < 0) return undefined
    const [, status] = /^HTTP\/1\.[01] (\d{3})(?!\d)/.exec(received.toString("latin1", from, from + 16)) ?? []
    if (status === undefined) throw new Error("it is not HTTP")
    from = end + headEnd.length
    if (Number(status) >= 200 || status === "101") return { status: Number(status), end: from }
  }
  throw new Error(`it has more than ${interimAnswers.value} interim parts`)
}
