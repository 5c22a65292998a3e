import assert from "node:assert/strict"
import { constants, readFileSync, statSync, writeFileSync } from "node:fs"
import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { appendMark, type Mark } from "./marks.ts"
import { readUsage, usageFileBytes, writeSample } from "./usage-file.ts"
import type { UsageSample } from "./usage-sample.ts"

const second = 1_000
const minute = 60 * second
const day = 24 * 60 * minute
const start = Date.UTC(2026, 0, 1)

const sampleAt = (time: number, figures: Partial<UsageSample> = {}): UsageSample => ({
  time,
  cpus: 0.5,
  memory: 2 ** 20,
  memoryLimit: 2 ** 30,
  gpuMemory: null,
  gpuBusy: null,
  networkIn: 10,
  networkOut: 20,
  disk: 0,
  ...figures,
})

/** A run's file that is not there yet. */
async function usageFile() {
  const directory = await mkdtemp(join(tmpdir(), "quayside-usage-"))
  const path = join(directory, "file")
  const write = async (work: (file: FileHandle) => Promise<void>) => {
    await using file = await open(path, constants.O_RDWR | constants.O_CREAT)
    await work(file)
  }
  return {
    path,
    write,
    add: (...samples: UsageSample[]) =>
      write(async (file) => {
        for (const sample of samples) await writeSample(file, sample)
      }),
    points: async (from: number, to: number, stepMs = 10 * second) => (await readUsage(path, { from, to, stepMs })).points,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

test("a file returns every figure of a sample, and none where nothing was sampled", async () => {
  await using file = await usageFile()
  assert.deepEqual(await file.points(start, start + day), [])
  const figures = { cpus: 1.5, memory: 2 ** 40 + 1, gpuMemory: 5, gpuBusy: 0.25, networkIn: 2 ** 52, networkOut: 7, disk: 9 }
  await file.add(
    sampleAt(start + 3 * second, figures),
    sampleAt(start + 25 * second, { cpus: null, memory: null, networkIn: null, disk: null }),
  )
  const unknown = { cpus: null, memory: null, maxMemory: null, gpuMemory: null, gpuBusy: null, networkIn: null, networkOut: 20, disk: null }
  assert.deepEqual(await file.points(start, start + day), [
    { time: start, ...figures, maxMemory: figures.memory },
    { time: start + 20 * second, ...unknown },
  ])
  assert.deepEqual(await file.points(start + 10 * second, start + 19 * second), [])
})

test("a step has the average of its samples, the most memory and the last counters", async () => {
  await using file = await usageFile()
  const samples = [0, 1, 2, 3, 4, 5, 6].map((n) =>
    sampleAt(start + n * 10 * second, { cpus: n, memory: n % 2 === 0 ? 100 : 300, networkOut: n, disk: n, gpuBusy: n === 3 ? 0.5 : null }),
  )
  await file.add(...samples)
  const of = async (stepMs: number) =>
    (await file.points(start, start + 2 * minute, stepMs)).map(({ time, cpus, memory, maxMemory, gpuBusy, networkOut, disk }) => [
      (time - start) / second,
      ...[cpus, memory, maxMemory, gpuBusy, networkOut, disk],
    ])
  assert.deepEqual(await of(30 * second), [
    [0, 1, 500 / 3, 300, null, 2, 2],
    [30, 4, 700 / 3, 300, 0.5, 5, 5],
    [60, 6, 100, 100, null, 6, 6],
  ])
  assert.deepEqual(await of(minute), [
    [0, 2.5, 200, 300, 0.5, 5, 5],
    [60, 6, 100, 100, null, 6, 6],
  ])
  assert.deepEqual(await of(2 * minute), [[0, 4.25, 150, 300, 0.5, 6, 6]])
})

test("a file keeps samples of a day and minutes of a week, and does not grow beyond its bound", async () => {
  await using file = await usageFile()
  const days = 8
  await file.write(async (handle) => {
    for (let time = start; time < start + days * day; time += 30 * second) await writeSample(handle, sampleAt(time, { networkIn: time }))
  })
  const end = start + days * day
  const week = await file.points(0, end, minute)
  assert.deepEqual([week.length, week[0]?.time, week.at(-1)?.time], [7 * 24 * 60, end - 7 * day, end - minute])
  assert.ok(week.every(({ time, networkIn }) => networkIn === time + 30 * second))
  const short = await file.points(end - day, end)
  assert.deepEqual([short.length, short[0]?.time], [2 * 24 * 60, end - day])
  const mixed = await file.points(end - day - 2 * minute, end - day + minute)
  assert.deepEqual(
    mixed.map(({ time }) => (time - end + day) / second),
    [-120, -60, 0, 30, 60],
    "minutes before, samples after",
  )
  assert.ok(statSync(file.path).size <= usageFileBytes)
})

test("a record that was torn or never written is no figure", async () => {
  await using file = await usageFile()
  await file.add(...[0, 1, 2].map((n) => sampleAt(start + n * 10 * second)))
  const whole = readFileSync(file.path)
  const times = async () => (await file.points(start, start + minute)).map(({ time }) => (time - start) / second)
  assert.deepEqual(await times(), [0, 10, 20])
  const at = whole.indexOf(whole.subarray(-64)) // the minute's summary is the last record
  const second10 = whole.findIndex((_, n) => n % 64 === 0 && whole.readUInt32BE(n + 4) === start / 10_000 + 1)
  for (const length of [1, 4, 8, 63]) {
    const torn = Buffer.from(whole)
    torn.fill(0xff, second10 + length, second10 + 64)
    writeFileSync(file.path, torn)
    assert.deepEqual(await times(), [0, 20], `${length} bytes were written`)
  }
  writeFileSync(file.path, whole.subarray(0, at + 30))
  assert.deepEqual(await file.points(start, start + minute, minute), [])
  await file.add(sampleAt(start + 30 * second))
  assert.deepEqual([(await times()).length, (await file.points(start, start + minute, minute)).length], [4, 1])
})

test("unknown figures of an ending container do not replace the known ones of its last step", async () => {
  await using file = await usageFile()
  await file.add(sampleAt(start, { networkOut: 7 }), sampleAt(start + 5 * second, { cpus: null, memory: null, networkOut: null }))
  const [point] = await file.points(start, start + minute)
  assert.deepEqual([point?.cpus, point?.memory, point?.networkOut], [0.5, 2 ** 20, 7])
})

test("after the clock went back, later samples replace those of the same time, and others stay", async () => {
  await using file = await usageFile()
  await file.add(...[0, 1, 2, 3].map((n) => sampleAt(start + n * 10 * second, { networkIn: 1 })))
  await file.add(...[1, 2].map((n) => sampleAt(start + n * 10 * second, { networkIn: 2 })))
  const counters = async (stepMs?: number) => (await file.points(start, start + minute, stepMs)).map(({ networkIn }) => networkIn)
  assert.deepEqual(await counters(), [1, 2, 2, 1])
  await file.add(sampleAt(start + 100.5 * day, { networkIn: 3 }), sampleAt(start + 40 * second, { networkIn: 4 }))
  assert.deepEqual(await counters(), [1, 2, 2, 1, 4])
  assert.deepEqual(await counters(minute), [4])
})

test("the last 128 marks are returned, with texts cut at whole characters, and the same one of killed processes once", async () => {
  await using file = await usageFile()
  const marks: Mark[] = Array.from({ length: 300 }, (_, n) => ({ time: start + n, kind: "warning", text: `${n}` }))
  await file.write(async (handle) => {
    for (const mark of marks) await appendMark(handle, mark)
  })
  const stored = async (from = 0, to = start + day) => (await readUsage(file.path, { from, to, stepMs: minute })).marks
  assert.deepEqual(await stored(), marks.slice(-128))
  assert.deepEqual(await stored(start + 290, start + 291), marks.slice(290, 292))
  await file.write(async (handle) => {
    await appendMark(handle, { time: start + 300, kind: "out_of_memory", text: "one was killed" })
    await appendMark(handle, { time: start + 301, kind: "out_of_memory", text: "one was killed" })
    await appendMark(handle, { time: start + 302, kind: "exit", text: "€".repeat(1_000) })
    await appendMark(handle, { time: start - day, kind: "restart", text: "" })
  })
  assert.deepEqual((await stored()).slice(-3), [
    { time: start + 300, kind: "out_of_memory", text: "one was killed" },
    { time: start + 302, kind: "exit", text: "€".repeat(79) },
    { time: start - day, kind: "restart", text: "" },
  ])
  await file.write(async (handle) => void (await handle.write(Buffer.alloc(200, 1), 0, 200, 256 * 3)))
  assert.equal((await stored()).length, 127, "a torn mark is none")
})
