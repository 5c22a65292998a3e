/** The WebSocket subprotocol; its number is the protocol's version. */
export const protocolName = "quayside.control.v1"

/** The rest of a file goes into a run from a multiple of this many bytes. */
export const copyBlockBytes = 1024 * 1024

/** The kinds of frames. A frame is one binary WebSocket message: kind, stream ID, payload. */
export const frameKinds = {
  /** JSON `{"kind": …, …}`: opens a stream. */
  open: 1,
  /** JSON: the stream is open. */
  accept: 2,
  /** One byte that names the part (0, or a program's output), then bytes that use credit. */
  data: 3,
  /** Four bytes, big-endian: the receiver may send so many more bytes of data. */
  credit: 4,
  /** No more data follows from this side. */
  end: 5,
  /** JSON: a message outside the data, such as a terminal's new size. */
  message: 6,
  /** JSON: the stream is over; `{"result": …}` after all data, or `{"code", "msg"}` at once. */
  close: 7,
  /** Answered by `pong`; the stream ID is 0. */
  ping: 8,
  pong: 9,
} as const

export type FrameKind = (typeof frameKinds)[keyof typeof frameKinds]

/** Bytes before a frame's payload: the kind, and the stream ID as four bytes, big-endian. */
const headerBytes = 5

export interface DataFrameOptions {
  stream: number
  part: number
  /** Returns the frame's memory; undefined: new memory. */
  allocate?: ((bytes: number) => Uint8Array | undefined) | undefined
}

export interface Frame {
  kind: number
  stream: number
  /** Valid for as long as the message that it came in. */
  payload: Uint8Array
}

/** Undefined if the message is too short for a frame. */
export function decodeFrame(message: Uint8Array): Frame | undefined {
  if (message.length < headerBytes) return undefined
  return { kind: message[0] ?? 0, stream: readUint32(message, 1), payload: message.subarray(headerBytes) }
}

export function encodeFrame(kind: FrameKind, stream: number, payload: Uint8Array = empty): Uint8Array {
  const frame = new Uint8Array(headerBytes + payload.length)
  frame[0] = kind
  writeUint32(frame, 1, stream)
  frame.set(payload, headerBytes)
  return frame
}

/** Data of one frame is shorter than the largest frame, so that streams alternate often. */
export const maxDataBytes = 32_768
export const maxDataFrameBytes = headerBytes + 1 + maxDataBytes

export function encodeData(data: Uint8Array, { stream, part, allocate }: DataFrameOptions): Uint8Array {
  const length = headerBytes + 1 + data.length
  const frame = allocate?.(length) ?? new Uint8Array(length)
  frame[0] = frameKinds.data
  writeUint32(frame, 1, stream)
  frame[headerBytes] = part
  frame.set(data, headerBytes + 1)
  return frame
}

export function encodeCredit(stream: number, bytes: number): Uint8Array {
  const payload = new Uint8Array(4)
  writeUint32(payload, 0, bytes)
  return encodeFrame(frameKinds.credit, stream, payload)
}

export function encodeJson(kind: FrameKind, stream: number, value: unknown): Uint8Array {
  return encodeFrame(kind, stream, encoder.encode(JSON.stringify(value)))
}

/** The object of a JSON payload; undefined if it is none. */
export function decodeJson(payload: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(decoder.decode(payload))
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

export function readUint32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at)
}

function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).setUint32(at, value)
}

const empty = new Uint8Array(0)
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true })
