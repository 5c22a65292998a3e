import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { crc32 } from "node:zlib"
import { dataDescriptor, directoryRecord, endRecords, localHeader } from "./zip-format.ts"

/** An archive of entries with this content. */
function archiveOf(count: number, { content, isLarge }: { content: Buffer; isLarge: boolean }): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (let i = 0; i < count; i += 1) {
    const entry = { name: `n${i}`, mode: 0o100600, mtimeMs: Date.UTC(2024, 1, 29, 12, 30, 58), isLarge }
    const facts = { crc: crc32(content), bytes: content.length }
    directory.push(directoryRecord({ ...entry, ...facts, offset }))
    const written = Buffer.concat([localHeader(entry), content, dataDescriptor({ ...entry, ...facts })])
    parts.push(written)
    offset += written.length
  }
  const listed = Buffer.concat(directory)
  return Buffer.concat([...parts, listed, endRecords({ entries: count, offset, bytes: listed.length })])
}

/** The number of entries, and facts of the last one, as Python's reader finds them. */
function readBack(archive: Buffer): unknown {
  const folder = mkdtempSync(join(tmpdir(), "quayside-zip-"))
  try {
    const path = join(folder, "archive.zip")
    writeFileSync(path, archive)
    const python = `import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
last = archive.infolist()[-1]
print(json.dumps([len(archive.namelist()), archive.read(last).decode(), last.date_time, last.external_attr >> 16]))`
    return JSON.parse(execFileSync("python3", ["-c", python, path]).toString())
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const time = [2024, 2, 29, 12, 30, 58]

test("an archive with more than 65,535 entries has the large records", () => {
  const archive = archiveOf(65_600, { content: Buffer.alloc(0), isLarge: false })
  assert.deepEqual(readBack(archive), [65_600, "", time, 0o100600])
})

test("the records of a file beyond 4 GiB are read by other programs", () => {
  const archive = archiveOf(3, { content: Buffer.from("hello"), isLarge: true })
  assert.deepEqual(readBack(archive), [3, "hello", time, 0o100600])
})

test("entries beyond 4 GiB have their offset in the large field", () => {
  const entry = { name: "n", mode: 0o100644, mtimeMs: 0, isLarge: true, crc: 1, bytes: 2 ** 33, offset: 2 ** 34 }
  const record = directoryRecord(entry)
  const field = record.subarray(46 + 1 + 9)
  assert.deepEqual([field.readUInt16LE(0), field.readUInt16LE(2)], [1, 24])
  assert.deepEqual([field.readBigUInt64LE(4), field.readBigUInt64LE(12), field.readBigUInt64LE(20)], [2n ** 33n, 2n ** 33n, 2n ** 34n])
  const end = endRecords({ entries: 1, offset: 2 ** 35, bytes: record.length })
  assert.equal(end.readBigUInt64LE(48), 2n ** 35n)
  assert.equal(end.readUInt32LE(76 + 16), 0xffffffff)
})
