import { crc32 } from "node:zlib"
import type { UsagePoint } from "./usage-sample.ts"

/** A page of the disk holds a whole number of records, so none is on two pages. */
export const recordBytes = 64

/** The usage in one slot of a ring, which is a step of time counted from the epoch. */
export interface UsageRecord extends Omit<UsagePoint, "time"> {
  slot: number
}

const encoded = Buffer.alloc(recordBytes)
const fields = new DataView(encoded.buffer, encoded.byteOffset, recordBytes)
const checked = encoded.subarray(4)

export function encodeRecord(record: UsageRecord): Buffer {
  fields.setUint32(4, record.slot)
  fields.setFloat32(8, record.cpus ?? Number.NaN)
  fields.setFloat32(12, record.gpuBusy ?? Number.NaN)
  fields.setFloat64(16, record.memory ?? Number.NaN)
  fields.setFloat64(24, record.maxMemory ?? Number.NaN)
  fields.setFloat64(32, record.gpuMemory ?? Number.NaN)
  fields.setFloat64(40, record.networkIn ?? Number.NaN)
  fields.setFloat64(48, record.networkOut ?? Number.NaN)
  fields.setFloat64(56, record.disk ?? Number.NaN)
  fields.setUint32(0, crc32(checked))
  return Buffer.from(encoded)
}

/** Undefined unless the record is whole and its slot is one of `from` to `to`. */
export function decodeRecord(from: Buffer, offset: number, slots: { from: number; to: number }): UsageRecord | undefined {
  const bytes = new DataView(from.buffer, from.byteOffset + offset, recordBytes)
  const slot = bytes.getUint32(4)
  if (slot < slots.from || slot > slots.to || bytes.getUint32(0) !== crc32(from.subarray(offset + 4, offset + recordBytes)))
    return undefined
  const known = (figure: number) => (Number.isNaN(figure) ? null : figure)
  return {
    slot,
    cpus: known(bytes.getFloat32(8)),
    gpuBusy: known(bytes.getFloat32(12)),
    memory: known(bytes.getFloat64(16)),
    maxMemory: known(bytes.getFloat64(24)),
    gpuMemory: known(bytes.getFloat64(32)),
    networkIn: known(bytes.getFloat64(40)),
    networkOut: known(bytes.getFloat64(48)),
    disk: known(bytes.getFloat64(56)),
  }
}

/** One record of several, oldest first. Unknown figures do not count. */
export function summarize(slot: number, records: readonly UsageRecord[]): UsageRecord {
  const mean = (name: "cpus" | "gpuBusy" | "memory" | "gpuMemory") => {
    let [sum, known] = [0, 0]
    for (const { [name]: figure } of records) if (figure !== null) [sum, known] = [sum + figure, known + 1]
    return known === 0 ? null : sum / known
  }
  const last = (name: "networkIn" | "networkOut" | "disk") => records.findLast((record) => record[name] !== null)?.[name] ?? null
  return {
    slot,
    cpus: mean("cpus"),
    gpuBusy: mean("gpuBusy"),
    memory: mean("memory"),
    maxMemory: records.reduce<number | null>((most, { maxMemory }) => larger(most, maxMemory), null),
    gpuMemory: mean("gpuMemory"),
    networkIn: last("networkIn"),
    networkOut: last("networkOut"),
    disk: last("disk"),
  }
}

function larger(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}
