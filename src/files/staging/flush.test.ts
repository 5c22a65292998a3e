import assert from "node:assert/strict"
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PassThrough } from "node:stream"
import { after, before, suite, test } from "node:test"
import { bounds } from "#contract"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { sendFile } from "../methods/send-file.ts"
import { copyEntry } from "../tree/copy-entry.ts"
import { DirectoryHandle, disposableDescriptor } from "../tree/directory-handle.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { flush } from "./flush.ts"

const { diskThreadsOfPerson, largeFlushesOfPerson } = bounds.files

/** The calls that the thread pool has now. */
const calls = () => process.getActiveResourcesInfo().filter((name) => name === "FSReqCallback").length

/** Looks in each turn of the event loop until the work is done. */
async function mostCallsDuring(work: Promise<unknown>): Promise<number> {
  let isDone = false
  void work.finally(() => (isDone = true))
  let most = calls()
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve))
    most = Math.max(most, calls())
  }
  await work
  return most
}

suite("flushes", () => {
  const directory = mkdtempSync(join(tmpdir(), "quayside-flush-"))
  after(() => rmSync(directory, { recursive: true }))

  const filesOf = (bytes: number) => {
    const fds = Array.from({ length: 12 }, (_, n) => openSync(join(directory, `${bytes}-${n}`), "w"))
    for (const fd of fds) writeSync(fd, Buffer.alloc(bytes))
    const close = () => {
      for (const fd of fds) closeSync(fd)
    }
    return { fds, [Symbol.dispose]: close }
  }

  for (const [size, bytes, most] of [
    ["small", 1_000, diskThreadsOfPerson.value],
    ["large", 100_000, largeFlushesOfPerson.value],
  ] as const)
    test(`${most} of one person's ${size} files are flushed at a time, and another's beside them`, async () => {
      using files = filesOf(bytes)
      const flushAll = (userId: number) => Promise.all(files.fds.map((fd) => flush(fd, userId)))
      assert.equal(await mostCallsDuring(flushAll(7)), most)
      const others = await mostCallsDuring(Promise.all([flushAll(7), flushAll(8)]))
      assert.ok(others > most && others <= 2 * most, `${others} calls`)
    })
})

test("downloads of one person have few calls in the thread pool", async () => {
  const directory = mkdtempSync(join(tmpdir(), "quayside-download-"))
  const path = join(directory, "file")
  writeFileSync(path, Buffer.alloc(300_000))
  using file = disposableDescriptor(openSync(path, "r"))
  const download = () => {
    const response = new PassThrough({ highWaterMark: 2 ** 20 })
    return sendFile({ response: response as unknown as ServerResponse, userId: 7 }, file.fd, { start: 0, end: 300_000 })
  }
  const most = await mostCallsDuring(Promise.all(Array.from({ length: 20 }, download)))
  assert.equal(most, diskThreadsOfPerson.value)
  rmSync(directory, { recursive: true })
})

test("a file that is copied alone is made in the thread pool", async () => {
  const directory = mkdtempSync(join(tmpdir(), "quayside-copy-"))
  writeFileSync(join(directory, "file"), "x")
  using handle = DirectoryHandle.open(directory)
  const parent = TreeDirectory.of(handle, 7)
  const copied = copyEntry({ parent, name: "file" }, { parent, name: "copy" })
  for (let i = 0; i < 50 && calls() === 0; i += 1) await Promise.resolve()
  assert.equal(calls(), 1)
  assert.deepEqual(await copied, { entries: 1, bytes: 1 })
  rmSync(directory, { recursive: true })
})

suite("uploads", () => {
  let server: TestFilesServer
  before(async () => {
    server = await TestFilesServer.start()
  })
  after(() => server[Symbol.asyncDispose]())

  test("those of one person have few calls in the thread pool, whatever they wait for", async () => {
    const uploads = [1_000, 300_000].flatMap((bytes) =>
      Array.from({ length: 20 }, (_, n) => server.ask("PUT", `/users/ann/${bytes}-${n}`, { body: "x".repeat(bytes) })),
    )
    const most = await mostCallsDuring(Promise.all(uploads))
    assert.ok(most <= diskThreadsOfPerson.value, `${most} calls`)
    assert.deepEqual(new Set((await Promise.all(uploads)).map(({ status }) => status)), new Set([201]))
  })
})
