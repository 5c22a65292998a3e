import assert from "node:assert/strict"
import { test } from "node:test"
import { formatBytes, formatCpus, formatDuration, formatMemory, formatRelative, memoryFromGiB, memoryToGiB } from "./formats.ts"

test("bytes have at most three digits and the largest fitting unit", () => {
  const amounts = [0, 1, 1023, 1024, 1536, 150 * 1024, 2 ** 20, 2.5 * 2 ** 30, 2 ** 50, 2 ** 62]
  assert.deepEqual(amounts.map(formatBytes), [
    "0 B",
    "1 B",
    "1023 B",
    "1 KiB",
    "1.5 KiB",
    "150 KiB",
    "1 MiB",
    "2.5 GiB",
    "1 PiB",
    "4096 PiB",
  ])
})

test("memory follows the installation's unit, and survives the way to GiB and back", () => {
  assert.deepEqual([formatMemory(2048, "MiB"), formatMemory(2, "GiB"), formatMemory(2 ** 31, "bytes")], ["2 GiB", "2 GiB", "2 GiB"])
  for (const unit of ["MiB", "GiB", "bytes"] as const) assert.equal(memoryFromGiB(memoryToGiB(3, unit), unit), 3)
  assert.equal(memoryFromGiB(1.5, "MiB"), 1536)
})

test("CPUs are rounded to hundredths", () => {
  assert.deepEqual([formatCpus(2), formatCpus(0.123), formatCpus(1.999)], ["2", "0.12", "2"])
})

test("times are relative in the largest fitting unit", () => {
  const now = new Date("2030-01-01T12:00:00Z")
  const at = (seconds: number) => formatRelative(new Date(now.getTime() + seconds * 1000), now, "en")
  assert.deepEqual(
    [at(0), at(-30), at(-120), at(7200), at(-86_400), at(-86_400 * 30)],
    ["now", "30 seconds ago", "2 minutes ago", "in 2 hours", "yesterday", "4 weeks ago"],
  )
})

test("durations show their two largest units", () => {
  assert.deepEqual([-5, 0, 59_000, 60_000, 3_661_000, 90_000_000].map(formatDuration), [
    "0 s",
    "0 s",
    "59 s",
    "1 min",
    "1 h 1 min",
    "1 d 1 h",
  ])
})
