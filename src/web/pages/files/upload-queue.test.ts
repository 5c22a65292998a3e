import assert from "node:assert/strict"
import { test } from "node:test"
import { Failure } from "#contract"
import { UploadQueue, type UploadSender } from "./upload-queue.ts"

const sources = (count: number) => Array.from({ length: count }, (_, i) => ({ path: `/f${i}`, target: "/", file: new Blob(["12345"]) }))
const settle = () => new Promise((resolve) => setImmediate(resolve))
const atOnce = async () => {}

test("five files are sent at once, and all of them in the end", async () => {
  const open: (() => void)[] = []
  let most = 0
  const queue = new UploadQueue(async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    open.push(resolve)
    most = Math.max(most, open.length)
    await promise
  })
  queue.add(sources(12))
  assert.equal(open.length, 5)
  for (let done = 0; done < 12; done += 1) {
    open.shift()?.()
    await settle()
  }
  const { files, doneFiles, bytes, sentBytes, isActive } = queue.getSummary()
  assert.deepEqual(
    { files, doneFiles, bytes, sentBytes, isActive, most },
    { files: 12, doneFiles: 12, bytes: 60, sentBytes: 60, isActive: false, most: 5 },
  )
})

test("a pause ends what is under way, and nothing of it is lost", async () => {
  const sent: string[] = []
  let isFirst = true
  const send: UploadSender = async ({ path }, { signal }) => {
    if (isFirst) await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))))
    sent.push(path)
  }
  const queue = new UploadQueue(send)
  queue.add(sources(7))
  isFirst = false
  queue.pause()
  await settle()
  assert.deepEqual([sent, queue.getSummary().isPaused], [[], true])
  queue.resume()
  await settle()
  await settle()
  assert.deepEqual(
    sent.toSorted(),
    sources(7).map(({ path }) => path),
  )
})

test("a lost connection is tried again, and a refusal is not", async () => {
  const tries = new Map<string, number>()
  const queue = new UploadQueue(async ({ path }) => {
    tries.set(path, (tries.get(path) ?? 0) + 1)
    if (path === "/f0" && tries.get(path) !== 4) throw new TypeError("Failed to fetch")
    if (path === "/f1") throw new Failure("forbidden", "You may not write here")
  }, atOnce)
  queue.add(sources(2))
  for (let i = 0; i < 20; i += 1) await settle()
  assert.deepEqual([tries.get("/f0"), tries.get("/f1")], [4, 1])
  const { doneFiles, problems } = queue.getSummary()
  assert.deepEqual([doneFiles, problems.map(({ path, state }) => [path, state])], [1, [["/f1", "failed"]]])
})

test("a name that exists waits for a decision", async () => {
  const queue = new UploadQueue(async ({ mayReplace }) => {
    if (!mayReplace) throw new Failure("stale", "If-None-Match: the file exists")
  })
  queue.add(sources(2))
  await settle()
  const [first, second] = queue.getSummary().problems
  assert.ok(first && second)
  assert.equal(first.state, "exists")
  queue.retry(first, { replace: true })
  queue.skip(second)
  await settle()
  const { files, doneFiles, problems } = queue.getSummary()
  assert.deepEqual([files, doneFiles, problems], [1, 1, []])
})

test("one decision replaces, repeats or leaves out all that need one", async () => {
  let isRefused = true
  const queue = new UploadQueue(async ({ path, mayReplace }, { onProgress }) => {
    onProgress(1)
    if (path < "/f3" && !mayReplace) throw new Failure("stale", "If-None-Match: the file exists")
    if (path >= "/f3" && isRefused) throw new Failure("forbidden", "ann may not write here")
  })
  queue.add(sources(6))
  for (let i = 0; i < 3; i += 1) await settle()
  const before = queue.getSummary()
  assert.deepEqual([before.existing, before.failed, before.sentBytes], [3, 3, 0])
  queue.retryAll("exists")
  for (let i = 0; i < 3; i += 1) await settle()
  assert.deepEqual([queue.getSummary().doneFiles, queue.getSummary().failed], [3, 3])
  isRefused = false
  queue.retryAll("failed")
  for (let i = 0; i < 3; i += 1) await settle()
  assert.equal(queue.getSummary().doneFiles, 6)
  isRefused = true
  queue.add(sources(4))
  for (let i = 0; i < 3; i += 1) await settle()
  queue.skipAll()
  assert.deepEqual([queue.getSummary().files, queue.getSummary().problems], [6, []])
})

test("a file without room says so and waits for its own retry, while the others go on", async () => {
  let isFull = true
  const queue = new UploadQueue(async ({ path }) => {
    if (isFull && path === "/f2") throw new Failure("storage_full", "ann may store 1 GiB and stores 1 GiB")
  })
  queue.add(sources(9))
  for (let i = 0; i < 5; i += 1) await settle()
  const { isPaused, isActive, doneFiles, problems } = queue.getSummary()
  assert.deepEqual([isPaused, isActive, doneFiles, problems.map(({ path }) => path)], [false, false, 8, ["/f2"]])
  const [refused] = problems
  assert.ok(refused?.error instanceof Failure && refused.state === "failed")
  isFull = false
  queue.retry(refused)
  await settle()
  assert.equal(queue.getSummary().doneFiles, 9)
})

test("an ended session pauses everything, and a resume goes on", async () => {
  let isSignedIn = false
  const queue = new UploadQueue(async () => {
    if (!isSignedIn) throw new Failure("unauthorized", "The session has ended")
  })
  queue.add(sources(9))
  await settle()
  const { isPaused, stopReason, problems } = queue.getSummary()
  assert.ok(isPaused && stopReason instanceof Failure)
  assert.deepEqual(problems, [])
  isSignedIn = true
  queue.resume()
  for (let i = 0; i < 5; i += 1) await settle()
  assert.equal(queue.getSummary().doneFiles, 9)
})

test("a file that waits for another try is forgotten with the rest", async () => {
  const tries: string[] = []
  const pause = Promise.withResolvers<void>()
  const queue = new UploadQueue(
    async ({ path }) => {
      tries.push(path)
      throw new TypeError("Failed to fetch")
    },
    () => pause.promise,
  )
  queue.add(sources(1))
  await settle()
  queue.clear()
  pause.resolve()
  await settle()
  assert.deepEqual([tries, queue.getSummary().files], [["/f0"], 0])
})
