import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { DiskGuard } from "./disk-guard.ts"

const gib = 2 ** 30
const never = new AbortController().signal
/** Ends with its signal. */
const endless = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener("abort", () => reject(signal.reason))
  })

test("a pull ends while the disk is nearly full, and continues otherwise, also where the disk is not visible", async () => {
  const clock = new ManualClock()
  for (const [freeBytes, freeInodes, totalInodes, isFull] of [
    [1.9 * gib, 0, 0, true],
    [2.1 * gib, 0, 0, false],
    [2.1 * gib, 59, 1_000, true],
    [2.1 * gib, 66, 1_000, false],
    [1.9 * gib, 66, 1_000, true],
    [undefined, 0, 0, false],
  ] as const) {
    const disk = async () => (freeBytes === undefined ? null : { freeBytes, totalBytes: 32 * gib, freeInodes, totalInodes })
    const stop = new AbortController()
    const pull = new DiskGuard({ disk, clock }).watch(stop.signal, endless)
    setImmediate(() => stop.abort(new Error("stopped")))
    await assert.rejects(pull, isFull ? { code: "disk_full" } : /stopped/)
  }
  const done = new DiskGuard({
    disk: async () => ({ freeBytes: 0, totalBytes: 1, freeInodes: 0, totalInodes: 0 }),
    minFreeBytes: () => 0,
    clock,
  })
  assert.equal(await done.watch(never, async () => "pulled"), "pulled")
})

test("a pull finds as much room as most images need, or what is missing is told", async () => {
  const lacking = async (freeBytes: number | undefined, totalBytes: number, freeInodes = 100) => {
    const found = { freeBytes: (freeBytes ?? 0) * gib, totalBytes: totalBytes * gib, freeInodes, totalInodes: 100 }
    const disk = async () => (freeBytes === undefined ? null : found)
    const little = await new DiskGuard({ disk, minFreeBytes: () => 4 * gib }).littleRoom()
    return little && [little.lackingBytes / gib, little.totalBytes / gib]
  }
  assert.deepEqual(await lacking(13, 100), [1, 100])
  assert.equal(await lacking(14, 100), undefined)
  assert.deepEqual(await lacking(18, 1_000), [2, 1_000], "a large disk needs no hundred gigabytes")
  assert.deepEqual(await lacking(50, 100, 10), [4, 100], "a tenth of the inodes is free")
  assert.equal(await lacking(undefined, 0), undefined)
})
