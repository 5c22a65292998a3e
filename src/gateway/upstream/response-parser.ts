import { bounds } from "#contract"
import { ChunkBuffer } from "#kit"
import { BadResponseError, parseResponseHead, type ResponseHead, readField } from "./response-head.ts"

/** Receives one response: `onHead` once, then data, then `onEnd`. After a 101 all is data. */
export interface ResponseSink {
  onHead(head: ResponseHead): void
  onData(chunk: Buffer): void
  onEnd(trailers: string[]): void
}

const maxHeadBytes = bounds.gateway.answerHeadBytes.value
const maxLineBytes = 4_096
const maxTrailerBytes = bounds.gateway.answerTrailerBytes.value
const maxInterims = bounds.gateway.interimAnswers.value
const headEnd = Buffer.from("\r\n\r\n")
const lineEnd = Buffer.from("\r\n")

const carriageReturn = 0x0d
const lineFeed = 0x0a
/** A size of more digits is a line like any other. */
const maxPlainDigits = 8
/** By byte: the value of a hexadecimal digit, or -1. */
const hexDigits = new Int8Array(256).fill(-1)
for (const digit of Buffer.from("0123456789abcdefABCDEF")) hexDigits[digit] = Number.parseInt(String.fromCharCode(digit), 16)
/** A size and its extensions. */
const chunkSize = /^([0-9a-f]{1,12})(?:;[!#$%&'*+\-.^_`|~0-9a-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9a-z]+|"[\t\x20\x21\x23-\x5b\x5d-\x7e]*"))?)*$/i

type State = "head" | "length" | "size" | "chunk" | "chunk-end" | "trailer" | "close" | "done"

/**
 * Reads the answers of one upstream connection, one after the other.
 *
 * It is strict: anything ambiguous is a `BadResponseError`. The sink receives views of the fed
 * data.
 */
export class ResponseParser {
  #state: State = "done"
  #method = ""
  #sink: ResponseSink | undefined
  /** Holds the beginning of a head or a line whose end has not come yet. */
  #held: Buffer | undefined
  #heldBytes = 0
  #left = 0
  #interims = 0
  #trailers: string[] = []
  #trailerBytes = 0
  /** The data of the chunks of one feed: handed on together, since there may be thousands in it. */
  readonly #chunks = new ChunkBuffer()

  begin(method: string, sink: ResponseSink): void {
    this.#method = method
    this.#sink = sink
    this.#state = "head"
    this.#held = undefined
    this.#heldBytes = 0
    this.#interims = 0
    this.#trailers = []
    this.#trailerBytes = 0
    this.#chunks.take()
  }

  /** Nothing more reaches the sink. */
  stop(): void {
    this.#sink = undefined
    this.#state = "done"
  }

  /** Whether the beginning of a head or a line is in memory whose end has not come yet. */
  get holdsBytes(): boolean {
    return this.#heldBytes > 0
  }

  get isDone(): boolean {
    return this.#state === "done"
  }

  /** Parses the bytes, and returns how many of them belong to this response. */
  feed(data: Buffer): number {
    let at = 0
    while (at < data.length && this.#state !== "done") at = this.#step(data, at)
    this.#handOn()
    return at
  }

  /** The program closed its side: the end of a response without length, a failure of any other. */
  finish(): void {
    if (this.#state === "done") return
    if (this.#state !== "close") throw new BadResponseError("the program closed the connection before the end of its answer")
    this.#end()
  }

  #step(data: Buffer, at: number): number {
    switch (this.#state) {
      case "head":
        return this.#head(data, at)
      case "length":
      case "chunk":
        return this.#counted(data, at)
      case "size":
        return this.#plainSize(data, at) ?? this.#line(data, at, (line) => this.#size(line))
      case "chunk-end":
        return this.#plainChunkEnd(data, at) ?? this.#line(data, at, (line) => this.#chunkEnd(line))
      case "trailer":
        return this.#line(data, at, (line) => this.#trailer(line))
      default:
        this.#sink?.onData(at === 0 ? data : data.subarray(at))
        return data.length
    }
  }

  #head(data: Buffer, at: number): number {
    const { found, next } = this.#until(headEnd, { data, at, maxBytes: maxHeadBytes })
    if (found === undefined) return next
    const head = parseResponseHead(found, this.#method)
    if (head.status < 200 && head.status !== 101) {
      this.#interims += 1
      if (this.#interims > maxInterims) throw new BadResponseError(`more than ${maxInterims} interim answers`)
      return next
    }
    this.#state = afterHead(head)
    this.#left = head.framing.kind === "length" ? head.framing.length : 0
    this.#sink?.onHead(head)
    if (this.#state === "length" && this.#left === 0) this.#end()
    else if (head.framing.kind === "none" && head.status !== 101) this.#end()
    return next
  }

  #counted(data: Buffer, at: number): number {
    const to = Math.min(data.length, at + this.#left)
    this.#left -= to - at
    const last = this.#left === 0
    const part = at === 0 && to === data.length ? data : data.subarray(at, to)
    if (this.#state === "chunk") this.#chunks.add(part)
    else this.#sink?.onData(part)
    if (last && this.#state === "length") this.#end()
    else if (last && this.#state === "chunk") this.#state = "chunk-end"
    return to
  }

  #handOn(): void {
    if (this.#chunks.length === 0) return
    for (const buffer of this.#chunks.take()) this.#sink?.onData(buffer)
  }

  /**
   * Reads a size without extensions that the data contains as a whole; undefined for any other. A
   * read may hold thousands of chunks, and a text for each line would take milliseconds.
   */
  #plainSize(data: Buffer, at: number): number | undefined {
    if (this.#heldBytes > 0) return undefined
    const end = Math.min(data.length, at + maxPlainDigits)
    let size = 0
    let i = at
    for (; i < end; i += 1) {
      const digit = hexDigits[data[i] as number] as number
      if (digit < 0) break
      size = size * 16 + digit
    }
    if (i === at || !isLineEnd(data, i)) return undefined
    this.#beginChunk(size)
    return i + 2
  }

  #plainChunkEnd(data: Buffer, at: number): number | undefined {
    if (this.#heldBytes > 0 || !isLineEnd(data, at)) return undefined
    this.#state = "size"
    return at + 2
  }

  #size(line: string): void {
    const match = chunkSize.exec(line)
    if (match === null) throw new BadResponseError("a malformed chunk size")
    this.#beginChunk(Number.parseInt(match[1] as string, 16))
  }

  #beginChunk(size: number): void {
    this.#left = size
    this.#state = size === 0 ? "trailer" : "chunk"
  }

  #chunkEnd(line: string): void {
    if (line !== "") throw new BadResponseError("a chunk longer than its size")
    this.#state = "size"
  }

  #trailer(line: string): void {
    if (line === "") return void this.#end()
    this.#trailerBytes += line.length + 2
    if (this.#trailerBytes > maxTrailerBytes) throw new BadResponseError(`more than ${maxTrailerBytes} bytes of trailers`)
    if (/[^\t\x20-\x7e\x80-\xff]/.test(line)) throw new BadResponseError("a control character in a trailer")
    const names: string[] = []
    readField(line, this.#trailers, names)
    if (names[0] === "content-length" || names[0] === "transfer-encoding") throw new BadResponseError("a trailer about the answer's end")
  }

  #line(data: Buffer, at: number, take: (line: string) => void): number {
    const { found, next } = this.#until(lineEnd, { data, at, maxBytes: maxLineBytes })
    if (found !== undefined) take(found)
    return next
  }

  #until(end: Buffer, { data, at, maxBytes }: { data: Buffer; at: number; maxBytes: number }): { found: string | undefined; next: number } {
    const held = this.#heldBytes
    const all = held === 0 ? data.subarray(at) : this.#hold(data.subarray(at))
    // The bytes held before have been searched: only the last of them can begin the end.
    const to = all.indexOf(end, Math.max(0, held - end.length + 1))
    if ((to < 0 ? all.length : to) > maxBytes) throw new BadResponseError(`more than ${maxBytes} bytes of head or chunk line`)
    if (to < 0) {
      if (held === 0) this.#hold(all)
      return { found: undefined, next: data.length }
    }
    this.#held = undefined
    this.#heldBytes = 0
    return { found: all.toString("latin1", 0, to), next: at + to + end.length - held }
  }

  /**
   * Copies bytes behind those that are held; the buffer doubles, so that a head of single bytes
   * costs its length.
   */
  #hold(data: Buffer): Buffer {
    const length = this.#heldBytes + data.length
    if (this.#held === undefined || this.#held.length < length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(2 * length, 1_024))
      this.#held?.copy(grown, 0, 0, this.#heldBytes)
      this.#held = grown
    }
    data.copy(this.#held, this.#heldBytes)
    this.#heldBytes = length
    return this.#held.subarray(0, length)
  }

  #end(): void {
    this.#handOn()
    const sink = this.#sink
    this.stop()
    sink?.onEnd(this.#trailers)
  }
}

function isLineEnd(data: Buffer, at: number): boolean {
  return data[at] === carriageReturn && data[at + 1] === lineFeed
}

function afterHead({ status, framing }: ResponseHead): State {
  if (status === 101 || framing.kind === "close") return "close"
  return framing.kind === "chunked" ? "size" : "length"
}
