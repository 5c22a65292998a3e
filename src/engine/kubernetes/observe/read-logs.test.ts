import assert from "node:assert/strict"
import { test } from "node:test"
import { queryObjects } from "node:v8"
import type { ContainerLogLine } from "../../engine.ts"
import { mergeRankLogs } from "./merge-rank-logs.ts"
import { podLogLines } from "./read-logs.ts"

const time = "2026-01-02T03:04:05.678901234Z"
const at = Date.parse(time)

async function linesOf(...chunks: string[]): Promise<string[]> {
  const stream = (async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk)
  })()
  const lines = await Array.fromAsync(podLogLines(stream))
  assert.ok(lines.every((line) => line.time === at && line.stream === "stdout"))
  return lines.map(({ text }) => text)
}

test("lines are read across chunks, with empty ones, and without what has no time", async () => {
  assert.deepEqual(await linesOf(`${time} a\r\n${time} \n${time.slice(0, 5)}`, `${time.slice(5)} b c`), ["a", "", "b c"])
  assert.deepEqual(await linesOf("unable to retrieve container logs\n"), [])
  assert.deepEqual(await linesOf(`${time} x`, "\n"), ["x"])
})

test("a line that never ends arrives in pieces, of which few are held", async () => {
  let made = 0
  const endless = (async function* () {
    yield Buffer.from(`${time} `)
    for (; made < 1_000; made += 1) yield Buffer.alloc(10_000, "y")
  })()
  let pieces = 0
  for await (const { time: of, text } of podLogLines(endless)) {
    assert.deepEqual([of, text.length], [at, 16_384])
    pieces += 1
    assert.ok(made * 10_000 - pieces * 16_384 < 30_000)
    if (pieces === 100) break
  }
  assert.equal(pieces, 100)
  const long = "z".repeat(16_384 * 2)
  assert.deepEqual(await linesOf(`${time} ${long}`, `\n${time} next\n`), [long.slice(0, 16_384), long.slice(0, 16_384), "next"])
  assert.deepEqual((await linesOf(`${time} ${long}`, `tail\r\n`)).at(-1), "tail")
})

test("the output of several ranks is ordered by time, one line of each at a time", async () => {
  let held = 0
  const rankOf = (times: readonly number[]): AsyncIterable<ContainerLogLine> =>
    (async function* () {
      for (const each of times) {
        held += 1
        yield { time: each, stream: "stdout", text: String(each) }
        held -= 1
      }
    })()
  const ranks = () => [
    { rank: 0, lines: rankOf([1, 4, 5]) },
    { rank: 1, lines: rankOf([2, 3, 6, 7]) },
    { rank: 2, lines: rankOf([]) },
  ]
  const merged: ContainerLogLine[] = []
  for await (const line of mergeRankLogs(ranks(), {})) {
    assert.ok(held <= 2)
    merged.push(line)
  }
  assert.deepEqual(
    merged.map((line) => [line.time, line.rank]),
    [
      [1, 0],
      [2, 1],
      [3, 1],
      [4, 0],
      [5, 0],
      [6, 1],
      [7, 1],
    ],
  )
  assert.deepEqual(
    (await Array.fromAsync(mergeRankLogs(ranks(), { tail: 2 }))).map((line) => line.time),
    [6, 7],
  )
})

test("followed output arrives in the order of each rank, and keeps nothing while a rank is silent", async () => {
  const silent: AsyncIterable<ContainerLogLine> = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }
  const busy = (async function* (): AsyncIterable<ContainerLogLine> {
    for (let time = 0; time < 200; time += 1) yield { time, stream: "stdout", text: "" }
  })()
  const failing = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error("gone")) }) }
  const counts: number[] = []
  const times: number[] = []
  const merged = mergeRankLogs(
    [
      { rank: 0, lines: silent },
      { rank: 1, lines: busy },
    ],
    { follow: true },
  )
  for await (const { time, rank } of merged) {
    assert.equal(rank, 1)
    times.push(time)
    if (time === 20 || time === 180) counts.push(queryObjects(Promise, { format: "count" }))
    if (time === 199) break
  }
  assert.deepEqual(
    times,
    Array.from({ length: 200 }, (_, time) => time),
  )
  const [early = 0, late = 0] = counts
  assert.ok(early > 0 && late - early < 80, `${early} promises after 20 lines, ${late} after 180`)
  await assert.rejects(async () => {
    for await (const _ of mergeRankLogs([{ rank: 0, lines: failing }], { follow: true }));
  }, /gone/)
})
