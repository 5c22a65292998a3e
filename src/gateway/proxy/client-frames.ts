import type { RunTarget } from "../run-directory.ts"

type Protocol = RunTarget["webSocketProtocol"]

/** The start of a message that decides whether a person sent it. */
const maxPrefix = 512
/** A compressed keep-alive, the same each time, is not longer; VS Code's differ by a number. */
const maxCompressedPing = { any: 8, jupyter: 8, rfb: 8, vscode: 32 } as const

/** Finds the messages of people among the frames that a client sends by WebSocket. */
export class ClientFrames {
  readonly #protocol: Protocol
  /** Header and start of the present frame, which began in an earlier chunk. */
  #partial: Buffer | undefined
  /** Bytes of the present frame's payload that are still to come. */
  #left = 0

  constructor(protocol: Protocol) {
    this.#protocol = protocol
  }

  /**
   * Whether a person sent a message that this chunk begins or completes. `isKnown`: they are known
   * to be there, so that only the places of the frames are of interest.
   */
  detectActivity(chunk: Buffer, isKnown: boolean): boolean {
    let isUse = isKnown
    let at = 0
    while (true) {
      const passed = Math.min(this.#left, chunk.length - at)
      this.#left -= passed
      at += passed
      if (at === chunk.length) return isUse
      const rest = chunk.subarray(at, at + maxHeaderBytes + maxPrefix)
      const held = this.#partial?.length ?? 0
      const start = this.#partial ? Buffer.concat([this.#partial, rest]) : rest
      const frame = parseFrame(start, isUse ? 0 : maxPrefix)
      this.#partial = frame ? undefined : Buffer.from(start)
      isUse ||= frame !== undefined && isSentByPerson(this.#protocol, frame)
      this.#left = frame ? frame.header + frame.length - held : rest.length
    }
  }
}

/** Two bytes, eight of the length, four of the mask. */
const maxHeaderBytes = 14

interface Frame {
  opcode: number
  isCompressed: boolean
  /** Bytes of the header. */
  header: number
  /** Bytes of the payload. */
  length: number
  /** The start of the payload; valid until the next frame is parsed. */
  prefix: Buffer
}

const prefixBuffer = Buffer.alloc(maxPrefix)

/** The frame at the start of these bytes; undefined while header or prefix is incomplete. */
function parseFrame(bytes: Buffer, maxPrefixBytes: number): Frame | undefined {
  const [first = 0, second = 0] = bytes
  const short = second & 0x7f
  const extra = short === 126 ? 2 : short === 127 ? 8 : 0
  const isMasked = second >= 0x80
  const header = 2 + extra + (isMasked ? 4 : 0)
  if (bytes.length < header) return undefined
  const length = extra === 2 ? bytes.readUInt16BE(2) : extra === 8 ? Number(bytes.readBigUInt64BE(2)) : short
  const wanted = Math.min(length, maxPrefixBytes)
  if (bytes.length < header + wanted) return undefined
  const prefix = prefixBuffer.subarray(0, wanted)
  bytes.copy(prefix, 0, header, header + wanted)
  if (isMasked) for (let i = 0; i < wanted; i += 1) prefix[i] = (prefix[i] ?? 0) ^ (bytes[header - 4 + (i & 3)] ?? 0)
  return { opcode: first & 0x0f, isCompressed: (first & 0x40) !== 0, header, length, prefix }
}

const textOrBinary = [1, 2]

function isSentByPerson(protocol: Protocol, { opcode, isCompressed, length, prefix }: Frame): boolean {
  // The first frame of a message decides, and control frames are keep-alives.
  if (!textOrBinary.includes(opcode) || length === 0) return false
  return isCompressed ? length > maxCompressedPing[protocol] : messageRules[protocol](prefix, length)
}

const keepAlive = /\b(?:ping|pong|heartbeat|keep-?alive)\b/i
const jupyterAutomatic = /"(?:kernel_info_request|comm_info_request|set_size)"/

/** Whether a person sent a message that begins so. */
const messageRules: Record<Protocol, (prefix: Buffer, length: number) => boolean> = {
  // On a new connection a page asks for the kernel's properties and tells a terminal its size.
  jupyter: (prefix, length) => length > 2 && !jupyterAutomatic.test(prefix.toString("latin1")),
  // Keys, pointer, clipboard, and keys with their scan codes.
  rfb: (prefix) => [4, 5, 6, 255].includes(prefix[0] ?? 0),
  // Keep-alives and acknowledgements have a type of their own, in messages of one header.
  vscode: (prefix, length) => prefix[0] === 1 && length > 13 + 32,
  // Socket.IO sends single digits.
  any: (prefix, length) => length > 2 && !keepAlive.test(prefix.subarray(0, 128).toString("latin1")),
}
