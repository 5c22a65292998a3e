import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { readParquet, TableTooLargeError } from "./parquet.ts"

const bytes = new Uint8Array(readFileSync(new URL("../../../../../test/fixtures/files/small.parquet", import.meta.url)))
const fileOf = (content: Uint8Array) => ({
  byteLength: content.length,
  slice: (start: number, end = content.length) => content.slice(start, end).buffer,
})

test("the first rows of a Parquet table that zstd packed are read", async () => {
  const { head, rows, rowCount, columnCount } = await readParquet(fileOf(bytes))
  assert.deepEqual({ head, rowCount, columnCount, shown: rows.length }, { head: ["id", "name"], rowCount: 300, columnCount: 2, shown: 200 })
  assert.deepEqual(rows[199], ["199", "<b>1"])
})

test("a table that claims a huge footer is not read", async () => {
  const size = 2 ** 30
  const slice = (start: number, end = size) => {
    assert.ok(end - start <= 2 ** 20, "reads no more than the end of the file")
    const part = new Uint8Array(end - start)
    part.set(bytes.subarray(-4), part.length - 4)
    new DataView(part.buffer).setUint32(part.length - 8, size - 100, true)
    return part.buffer
  }
  await assert.rejects(readParquet({ byteLength: size, slice }), TableTooLargeError)
})

test("a file that is no table is an error", async () => {
  await assert.rejects(readParquet(fileOf(new TextEncoder().encode("id,name\n1,a\n"))), /parquet/)
})
