import assert from "node:assert/strict"
import { test } from "node:test"
import { PathLocks } from "./path-locks.ts"

const names = (path: string) => path.split("/").filter((name) => name !== "")

/** Begins changes one after another; those that run are told by name, and `end` ends one. */
function changes(locks: PathLocks) {
  const running = new Map<string, Disposable>()
  const turn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    async begin(name: string, ...paths: string[]) {
      void locks.acquire(paths.map(names)).then((lock) => running.set(name, lock))
      await turn()
    },
    async end(name: string) {
      running.get(name)?.[Symbol.dispose]()
      running.delete(name)
      await turn()
    },
    running: () => [...running.keys()],
  }
}

test("changes of one entry take turns in their order, and others run beside them", async () => {
  const { begin, end, running } = changes(new PathLocks())
  await begin("first", "/a/b")
  await begin("second", "/a/b")
  await begin("third", "/a/b")
  await begin("beside", "/a/bc")
  assert.deepEqual(running(), ["first", "beside"])
  await end("first")
  assert.deepEqual(running(), ["beside", "second"])
  await end("second")
  assert.deepEqual(running(), ["beside", "third"])
})

test("a change of a directory waits for those below it, and later ones below wait for it", async () => {
  const { begin, end, running } = changes(new PathLocks())
  await begin("file", "/a/b/c/d")
  await begin("directory", "/a/b")
  await begin("later file", "/a/b/x")
  await begin("above", "/a")
  await begin("elsewhere", "/b/a")
  assert.deepEqual(running(), ["file", "elsewhere"])
  await end("file")
  assert.deepEqual(running(), ["elsewhere", "directory"])
  await end("directory")
  assert.deepEqual(running(), ["elsewhere", "later file"])
  await end("later file")
  assert.deepEqual(running(), ["elsewhere", "above"])
})

test("a move waits for both of its places, and two in opposite directions end", async () => {
  const locks = new PathLocks()
  const { begin, end, running } = changes(locks)
  await begin("there", "/a", "/b")
  await begin("back", "/b", "/a")
  await begin("into", "/b/x")
  assert.deepEqual(running(), ["there"])
  await end("there")
  assert.deepEqual(running(), ["back"])
  await end("back")
  assert.deepEqual(running(), ["into"])
})

test("thousands of changes of one entry wait in little memory", async () => {
  const locks = new PathLocks()
  const before = process.memoryUsage().heapUsed
  const changes = Array.from({ length: 4_000 }, (_, n) => locks.acquire([names(n % 2 ? "/a/b" : "/a")]))
  await new Promise((resolve) => setImmediate(resolve))
  const usedMiB = (process.memoryUsage().heapUsed - before) / 2 ** 20
  assert.ok(usedMiB < 50, `${usedMiB} MiB`)
  for (const change of changes) (await change)[Symbol.dispose]()
})
