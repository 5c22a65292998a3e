import { decompress } from "fzstd"
import { type AsyncBuffer, type Compressors, parquetMetadataAsync, parquetReadObjects, parquetSchema, snappyUncompress } from "hyparquet"

/** The beginning of a table. */
export interface ParquetTable {
  head: string[]
  rows: string[][]
  rowCount: number
  columnCount: number
}

/** A table of which more would have to be read or unpacked than a preview may cost. */
export class TableTooLargeError extends Error {}

const maxRows = 200
const maxColumns = 100
const maxCellLength = 300
/** All reads together: row groups of some writers have hundreds of megabytes. */
const maxReadBytes = 64 * 2 ** 20
/** All that the read parts claim to hold, unpacked. */
const maxUnpackedBytes = 256 * 2 ** 20

/** Reads the first rows and columns of a Parquet file by the parts that they need. */
export async function readParquet(source: AsyncBuffer): Promise<ParquetTable> {
  const file = bounded(source)
  const metadata = await parquetMetadataAsync(file)
  const all = parquetSchema(metadata).children.map(({ element }) => element.name)
  const head = all.slice(0, maxColumns)
  const compressors = boundedCompressors()
  const rows = await parquetReadObjects({ file, metadata, columns: head, rowEnd: maxRows, compressors, useOffsetIndex: true })
  return {
    head,
    rows: rows.map((row) => head.map((name) => cellText(row[name]))),
    rowCount: Number(metadata.num_rows),
    columnCount: all.length,
  }
}

function bounded({ byteLength, slice }: AsyncBuffer): AsyncBuffer {
  let left = maxReadBytes
  return {
    byteLength,
    async slice(start, end = byteLength) {
      left -= Math.max(0, end - start)
      if (left < 0) throw new TableTooLargeError()
      return slice(start, end)
    },
  }
}

function boundedCompressors(): Compressors {
  let left = maxUnpackedBytes
  const unpacking = (unpack: (input: Uint8Array, output: Uint8Array) => unknown) => (input: Uint8Array, length: number) => {
    left -= length
    if (left < 0) throw new TableTooLargeError()
    const output = new Uint8Array(length)
    unpack(input, output)
    return output
  }
  return { SNAPPY: unpacking(snappyUncompress), ZSTD: unpacking(decompress) }
}

function cellText(value: unknown): string {
  const text = typeof value === "object" && value !== null ? objectText(value) : String(value ?? "")
  return text.length > maxCellLength ? `${text.slice(0, maxCellLength)}…` : text
}

function objectText(value: object): string {
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `${value.length} B`
  return JSON.stringify(value, (_name, each) => (typeof each === "bigint" ? String(each) : each))
}
