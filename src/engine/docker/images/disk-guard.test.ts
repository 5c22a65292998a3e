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
  for (const [freeBytes, isFull] of [
    [1.9 * gib, true],
    [2.1 * gib, false],
    [undefined, false],
  ] as const) {
    const disk = async () => (freeBytes === undefined ? null : { freeBytes, totalBytes: 32 * gib })
    const stop = new AbortController()
    const pull = new DiskGuard({ disk, clock }).watch(stop.signal, endless)
    setImmediate(() => stop.abort(new Error("stopped")))
    await assert.rejects(pull, isFull ? { code: "disk_full" } : /stopped/)
  }
  const done = new DiskGuard({ disk: async () => ({ freeBytes: 0, totalBytes: 1 }), minFreeBytes: () => 0, clock })
  assert.equal(await done.watch(never, async () => "pulled"), "pulled")
})

test("a pull finds as much room as most images need, or what is missing is told", async () => {
  const lacking = async (freeBytes: number | undefined, totalBytes: number) => {
    const disk = async () => (freeBytes === undefined ? null : { freeBytes: freeBytes * gib, totalBytes: totalBytes * gib })
    const found = await new DiskGuard({ disk, minFreeBytes: () => 4 * gib }).littleRoom()
    return found && [found.lackingBytes / gib, found.totalBytes / gib]
  }
  assert.deepEqual(await lacking(13, 100), [1, 100])
  assert.equal(await lacking(14, 100), undefined)
  assert.deepEqual(await lacking(18, 1_000), [2, 1_000], "a large disk needs no hundred gigabytes")
  assert.equal(await lacking(undefined, 0), undefined)
})
