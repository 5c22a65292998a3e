import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { getPriority, setPriority } from "node:os"
import { describe, it } from "node:test"
import { HashThreads } from "./hash-threads.ts"

const parameters = () => ({ message: "sesam", nonce: randomBytes(16), memory: 33 * 1024, passes: 2, parallelism: 1, tagLength: 32 })

/**
 * The priorities of this process's threads, by their IDs; 0 is the usual one, and higher is less.
 */
function priorities(): Map<string, number> {
  const of = (thread: string) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, "utf8")
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16])
  }
  return new Map(readdirSync("/proc/self/task").map((thread) => [thread, of(thread)]))
}

/** The threads with a lower priority than the first one. */
function lesser(): string[] {
  const all = priorities()
  const usual = all.get(String(process.pid)) as number
  return [...all].filter(([, priority]) => priority > usual).map(([thread]) => thread)
}

describe("a thread that hashes", { skip: process.platform === "linux" ? false : "other systems have no priority of a thread" }, () => {
  it("has a lower priority than the rest of the process, and is reused for the next hash", async () => {
    const threads = new HashThreads()
    assert.equal((await threads.derive(parameters())).length, 32)
    const remaining = lesser()
    assert.equal(remaining.length, 1)
    await threads.derive(parameters())
    assert.deepEqual(lesser(), remaining)
    await threads.end()
    assert.deepEqual(lesser(), [])
  })

  it("has a lower priority even if the service itself runs with a low one", async () => {
    const threads = new HashThreads()
    setPriority(getPriority() + 5)
    await threads.derive(parameters())
    assert.equal(lesser().length, 1)
    await threads.end()
  })

  it("reports its failure and is replaced", async () => {
    const threads = new HashThreads()
    await assert.rejects(threads.derive({ ...parameters(), memory: 1 }), /memory/)
    assert.equal((await threads.derive(parameters())).length, 32)
    await threads.end()
    assert.equal((await threads.derive(parameters())).length, 32, "one is started again")
    await threads.end()
  })
})
