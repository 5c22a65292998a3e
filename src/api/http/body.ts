import type { IncomingMessage } from "node:http"
import { bounds, Failure } from "#contract"
import { type BodyOptions, PersonLimiter, readBody } from "#http"
import { HeavyWorkQueue, sharedScheduler, systemUserId, Yielder } from "#kit"

const { bodyLevels, bodyValues, plainBodyBytes, largeBodies, waitingLargeBodies } = bounds.texts

const parsing = new HeavyWorkQueue()
/** Without it, one person's connections would hold gigabytes of bodies. */
const reading = new PersonLimiter({
  maxRunning: largeBodies.value,
  maxWaiting: waitingLargeBodies.value,
  message: (count) => `At most ${count} requests with large bodies may be in progress for one person`,
})

/**
 * Reads and parses a JSON body, and returns what `use` makes of it; every refusal is a `Failure`.
 * Few large bodies of a person are in memory at once, until `use` has ended: it may wait for long.
 * They are parsed one at a time, in slices between which others run; people alternate, and a pause
 * follows each of a person's.
 */
export async function readJson<T>(
  request: IncomingMessage,
  options: BodyOptions & { use: (json: unknown) => T | Promise<T> },
  userId = systemUserId,
): Promise<T> {
  const { use } = options
  checkType(request.headers["content-type"])
  checkEncoding(request.headers["content-encoding"])
  const read = () => readBody(request, { ...options, userId })
  if (!mayBeLarge(request, options.maxBytes)) return use(parse(await read()))
  const done = await reading.run(userId, async () => {
    const bytes = await read()
    if (bytes.length <= plainBodyBytes.value) return { bytes }
    return { used: await use(await parsing.run(userId, () => parseInSlices(bytes, userId))) }
  })
  return done.bytes ? use(parse(done.bytes)) : (done.used as T)
}

/** A body without a length counts as large: its length is known when it is in memory. */
function mayBeLarge({ headers }: IncomingMessage, maxBytes: number): boolean {
  return Math.min(maxBytes, Number(headers["content-length"] ?? maxBytes)) > plainBodyBytes.value
}

function parse(bytes: Buffer): unknown {
  checkSize(bytes)
  return parseText(decode(newDecoder(), bytes))
}

/** The last step takes a fifth of the time, and cannot be divided. */
async function parseInSlices(bytes: Buffer, userId: number): Promise<unknown> {
  const yielder = new Yielder(sharedScheduler, userId)
  const utf8 = newDecoder()
  const scan = newScan()
  let text = ""
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    const slice = bytes.subarray(at, at + sliceBytes)
    scanSlice(bytes, scan, at + slice.length)
    text += decode(utf8, slice, { stream: true })
    await yielder.pause()
  }
  return parseText(text + decode(utf8))
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Failure("invalid", `The body must be JSON: ${(error as Error).message.slice(0, 200)}`)
  }
}

function checkType(type: string | undefined): void {
  const [essence = "", ...parameters] = (type ?? "").toLowerCase().split(";")
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith("charset="))
  const isUtf8 = charset === undefined || /^charset="?utf-?8"?$/.test(charset)
  if (essence.trim() !== "application/json" || !isUtf8) {
    throw new Failure(
      "unsupported_media_type",
      `Content-Type must be application/json in UTF-8; got ${type === undefined ? "none" : JSON.stringify(type.slice(0, 60))}`,
    )
  }
}

function checkEncoding(coding: string | undefined): void {
  if (coding === undefined || coding.trim().toLowerCase() === "identity") return
  throw new Failure(
    "unsupported_media_type",
    `A body must come as it is, without Content-Encoding; got ${JSON.stringify(coding.slice(0, 60))}`,
  )
}

const newDecoder = () => new TextDecoder("utf-8", { fatal: true })

function decode(utf8: TextDecoder, bytes?: Buffer, options?: TextDecodeOptions): string {
  try {
    return utf8.decode(bytes, options)
  } catch {
    throw new Failure("invalid", "The body must be UTF-8")
  }
}

const quote = 0x22
const backslash = 0x5c
/** By byte: its change of the number of values, and of the depth. */
const addedValues = new Int8Array(256)
const addedDepth = new Int8Array(256)
for (const c of Buffer.from(",[{")) addedValues[c] = 1
for (const c of Buffer.from("[{")) addedDepth[c] = 1
for (const c of Buffer.from("]}")) addedDepth[c] = -1

/** Short, so that the function that scans a slice is called often and the engine compiles it. */
const sliceBytes = 16 * 1024

interface Scan {
  at: number
  isInString: boolean
  depth: number
  values: number
}

const newScan = (): Scan => ({ at: 0, isInString: false, depth: 0, values: 1 })

/**
 * Throws a `Failure` if the text is nested too deeply or holds too many values. An empty array or
 * object counts as two. The count may be wrong for a text that is not JSON, which the parser
 * rejects anyway.
 */
export function checkSize(bytes: Uint8Array): void {
  const scan = newScan()
  while (scan.at < bytes.length) scanSlice(bytes, scan, Math.min(bytes.length, scan.at + sliceBytes))
}

function scanSlice(bytes: Uint8Array, scan: Scan, end: number): void {
  const maxDepth = bodyLevels.value
  const maxValues = bodyValues.value
  let { at, isInString, depth, values } = scan
  for (; at < end; at += 1) {
    const c = bytes[at] as number
    if (c === quote) isInString = !isInString
    else if (isInString) at += c === backslash ? 1 : 0
    else {
      depth += addedDepth[c] as number
      values += addedValues[c] as number
      if (depth > maxDepth) throw new Failure("invalid", `The body may be ${maxDepth} levels deep at most`)
      if (values > maxValues) throw new Failure("invalid", `The body may hold ${maxValues.toLocaleString("en")} values at most`)
    }
  }
  Object.assign(scan, { at, isInString, depth, values })
}
