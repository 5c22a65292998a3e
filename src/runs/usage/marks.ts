import type { FileHandle } from "node:fs/promises"
import { crc32 } from "node:zlib"
import { bounds } from "#contract"

/** Events beside the usage of a run. */
const markKinds = ["out_of_memory", "exit", "warning", "restart"] as const
export type MarkKind = (typeof markKinds)[number]

export interface Mark {
  /** Milliseconds since the epoch. */
  time: number
  kind: MarkKind
  text: string
}

const maxMarks = bounds.runs.usageMarks.value
const markBytes = 256
const headBytes = 18
/** The size of the marks at the start of a run's file. */
export const marksBytes = maxMarks * markBytes

/**
 * Adds a mark. The oldest one gives way when there are too many; a long text is cut. An engine
 * reports killed processes as long as the container exists, so the next process counts them again.
 */
export async function appendMark(file: FileHandle, mark: Mark): Promise<void> {
  const buffer = Buffer.alloc(marksBytes)
  await file.read(buffer, 0, marksBytes, 0)
  const marks = decodeNumbered(buffer)
  if (mark.kind === "out_of_memory" && marks.some((each) => each.mark.text === mark.text)) return
  const number = Math.max(0, ...marks.map((each) => each.number)) + 1
  await file.write(encodeMark(mark, number), 0, markBytes, (number % maxMarks) * markBytes)
}

/** Oldest first. */
export function decodeMarks(buffer: Buffer): Mark[] {
  return decodeNumbered(buffer)
    .sort((a, b) => a.number - b.number)
    .map(({ mark }) => mark)
}

function encodeMark({ time, kind, text }: Mark, number: number): Buffer {
  const bytes = Buffer.alloc(markBytes)
  bytes.writeUInt32BE(number, 4)
  bytes.writeDoubleBE(time, 8)
  bytes.writeUInt8(markKinds.indexOf(kind), 16)
  bytes.writeUInt8(bytes.write(text, headBytes), 17)
  bytes.writeUInt32BE(crc32(bytes.subarray(4)), 0)
  return bytes
}

function decodeNumbered(buffer: Buffer): { number: number; mark: Mark }[] {
  const found = []
  for (let offset = 0; offset + markBytes <= buffer.length; offset += markBytes) {
    const bytes = buffer.subarray(offset, offset + markBytes)
    const kind = markKinds[bytes.readUInt8(16)]
    if (kind === undefined || bytes.readUInt32BE(0) !== crc32(bytes.subarray(4))) continue
    const text = bytes.toString("utf8", headBytes, headBytes + bytes.readUInt8(17))
    found.push({ number: bytes.readUInt32BE(4), mark: { time: bytes.readDoubleBE(8), kind, text } })
  }
  return found
}
