import { type FileHandle, open } from "node:fs/promises"
import { bounds } from "#contract"
import { Yielder } from "#kit"
import { decodeMarks, type Mark, marksBytes } from "./marks.ts"
import { decodeRecord, encodeRecord, recordBytes, summarize, type UsageRecord } from "./usage-record.ts"
import type { UsagePoint, UsageSample } from "./usage-sample.ts"

interface Ring {
  stepMs: number
  slots: number
  /** Its position in the file. */
  offset: number
}

const fine: Ring = { stepMs: 10_000, slots: bounds.runs.usageSamples.value, offset: marksBytes }
const coarse: Ring = { stepMs: 60_000, slots: bounds.runs.usageMinutes.value, offset: marksBytes + fine.slots * recordBytes }

/** The shortest step of a series. */
export const minStepMs = fine.stepMs
/** The time that a file covers. */
export const maxRangeMs = coarse.slots * coarse.stepMs
/** The largest size of a run's file. */
export const usageFileBytes = coarse.offset + coarse.slots * recordBytes

/** Records that are decoded in one turn of the event loop: about a millisecond. */
const recordsPerSlice = 512

/** A minute's samples are adjacent in their ring, which has a whole number of minutes. */
const perMinute = coarse.stepMs / fine.stepMs

/** The samples of one minute, of which a file has the summary. */
export interface SampledMinute {
  slot: number
  samples: UsageRecord[]
}

/**
 * Writes a sample, and anew the summary of its minute. `before` is the result of the call before,
 * which saves reading the minute.
 */
export async function writeSample(file: FileHandle, sample: UsageSample, before?: SampledMinute): Promise<SampledMinute> {
  const latest = { ...sample, slot: slotAt(fine, sample.time), maxMemory: sample.memory }
  const slot = slotAt(coarse, sample.time)
  const known = before?.slot === slot ? before.samples : await readMinute(file, slot)
  // The unknown figures of an ending container do not replace the known ones of its last step.
  const record = summarize(latest.slot, [...known.filter((each) => each.slot === latest.slot), latest])
  const samples = [...known.filter((each) => each.slot !== record.slot), record].sort((a, b) => a.slot - b.slot)
  await file.write(encodeRecord(record), 0, recordBytes, positionOf(fine, record.slot))
  await file.write(encodeRecord(summarize(slot, samples)), 0, recordBytes, positionOf(coarse, slot))
  return { slot, samples }
}

async function readMinute(file: FileHandle, slot: number): Promise<UsageRecord[]> {
  const from = slot * perMinute
  return decodeRecords(await readAt(file, positionOf(fine, from), perMinute * recordBytes), { from, to: from + perMinute - 1 })
}

export interface UsageRange {
  /** Milliseconds since the epoch. */
  from: number
  to: number
  /** A multiple of `minStepMs`. */
  stepMs: number
}

/** The points and marks from `from` to `to`, oldest first; none if there is no such file. */
export async function readUsage(
  path: string,
  range: UsageRange,
  yielder = new Yielder(),
): Promise<{ points: UsagePoint[]; marks: Mark[] }> {
  let file: FileHandle
  try {
    file = await open(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { points: [], marks: [] }
    throw error
  }
  try {
    const marks = decodeMarks(await readAt(file, 0, marksBytes)).filter(({ time }) => time >= range.from && time <= range.to)
    return { points: toPoints(await readRecords(file, range, yielder), range), marks }
  } finally {
    await file.close()
  }
}

/** Samples, and for steps of a minute and more, or where these are overwritten, minutes. */
async function readRecords(file: FileHandle, range: UsageRange, yielder: Yielder): Promise<(UsageRecord & { time: number })[]> {
  const minutes = await readRing(file, coarse, range, yielder)
  if (range.stepMs >= coarse.stepMs) return minutes.sort((a, b) => a.time - b.time)
  const whole = { from: slotAt(coarse, range.from) * coarse.stepMs, to: (slotAt(coarse, range.to) + 1) * coarse.stepMs - 1 }
  const samples = await readRing(file, fine, whole, yielder)
  const known = new Set(samples.map(({ time }) => slotAt(coarse, time)))
  const isInRange = ({ slot }: UsageRecord) => slot >= slotAt(fine, range.from) && slot <= slotAt(fine, range.to)
  return [...minutes.filter(({ slot }) => !known.has(slot)), ...samples.filter(isInRange)].sort((a, b) => a.time - b.time)
}

async function readRing(
  file: FileHandle,
  ring: Ring,
  { from, to }: Omit<UsageRange, "stepMs">,
  yielder: Yielder,
): Promise<(UsageRecord & { time: number })[]> {
  const slots = { from: slotAt(ring, from), to: slotAt(ring, to) }
  const records = []
  // Each part is adjacent in the file; the last ones are what the ring still has.
  for (let slot = Math.max(slots.from, slots.to - ring.slots + 1); slot <= slots.to; ) {
    const end = Math.min(slots.to + 1, slot - (slot % ring.slots) + ring.slots, slot + recordsPerSlice)
    records.push(...decodeRecords(await readAt(file, positionOf(ring, slot), (end - slot) * recordBytes), slots))
    slot = end
    await yielder.pause()
  }
  return records.map((record) => ({ ...record, time: record.slot * ring.stepMs }))
}

function toPoints(records: readonly (UsageRecord & { time: number })[], { stepMs }: UsageRange): UsagePoint[] {
  return [...Map.groupBy(records, ({ time }) => Math.floor(time / stepMs))].map(([step, those]) => {
    const { slot, ...point } = summarize(step, those)
    return { ...point, time: slot * stepMs }
  })
}

function decodeRecords(buffer: Buffer, slots: { from: number; to: number }): UsageRecord[] {
  const records = []
  for (let offset = 0; offset + recordBytes <= buffer.length; offset += recordBytes) {
    const record = decodeRecord(buffer, offset, slots)
    if (record) records.push(record)
  }
  return records
}

/** Shorter than `length` at the end of the file. */
async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

function slotAt({ stepMs }: Ring, time: number): number {
  return Math.floor(time / stepMs)
}

function positionOf(ring: Ring, slot: number): number {
  return ring.offset + (slot % ring.slots) * recordBytes
}
