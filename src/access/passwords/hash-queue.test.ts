import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { HashQueue, type HashRequest } from "./hash-queue.ts"

const some = { known: 100, clean: 100, suspect: 100 }

/** A queue whose work ends when it is told to, and the order in which it started. */
function controlled(width: number, maxWaiting = some) {
  const queue = new HashQueue(width, maxWaiting)
  const started: string[] = []
  const running: PromiseWithResolvers<void>[] = []
  return {
    queue,
    started: started,
    enqueue(label: string, place: Partial<HashRequest>): Promise<void> {
      return queue.run({ reputation: "clean", address: "192.0.2.1", name: label, ...place }, async () => {
        started.push(label)
        const end = Promise.withResolvers<void>()
        running.push(end)
        await end.promise
      })
    },
    /** Ends all, one after the other. */
    async finish(count: number): Promise<void> {
      for (let i = 0; i < count; i += 1) {
        running.shift()?.resolve()
        for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
      }
    },
  }
}

describe("password checks", () => {
  it("of one name run one at a time, and others run beside it", async () => {
    const { queue, started, enqueue, finish } = controlled(3)
    const all = [enqueue("ann 1", { name: "ann" }), enqueue("ann 2", { name: "ann" }), enqueue("bob", { name: "bob" })]
    assert.deepEqual(started, ["ann 1", "bob"])
    await finish(3)
    assert.deepEqual(started, ["ann 1", "bob", "ann 2"])
    await Promise.all(all)
    queue.close(new Error("over"))
  })

  it("take turns between addresses, and within one between names, however many wait", async () => {
    const { started, enqueue, finish } = controlled(1)
    const crowd = Array.from({ length: 20 }, (_, i) => enqueue(`crowd ${i}`, { name: `crowd${i % 2}`, address: "198.51.100.1" }))
    const others = [
      enqueue("ann", { address: "192.0.2.1" }),
      enqueue("bob", { address: "192.0.2.2" }),
      enqueue("carl", { address: "198.51.100.1" }),
    ]
    await finish(23)
    await Promise.all([...crowd, ...others])
    assert.ok(started.indexOf("ann") <= 2, started.join())
    assert.ok(started.indexOf("bob") <= 3, started.join())
    assert.ok(started.indexOf("carl") <= 6, started.join())
  })

  it("of known devices and of addresses without failures have queues of their own", async () => {
    const { started, enqueue, finish } = controlled(1)
    const crowd = Array.from({ length: 20 }, (_, i) => enqueue(`stranger ${i}`, { address: `198.51.100.${i}` }))
    const failed = enqueue("suspect", { reputation: "suspect", address: "203.0.113.1" })
    const known = enqueue("known", { reputation: "known", address: "203.0.113.2" })
    await finish(22)
    await Promise.all([...crowd, failed, known])
    assert.equal(started.indexOf("known"), 1, started.join())
    assert.ok(started.indexOf("suspect") <= 3, started.join())
  })

  it("are refused beyond the bound of their reputation, and the other levels stay open", async () => {
    const { enqueue, finish } = controlled(1, { known: 1, clean: 1, suspect: 0 })
    const waiting = [enqueue("one", {}), enqueue("two", {}), enqueue("known", { reputation: "known" })]
    await assert.rejects(enqueue("three", {}), { name: "OverloadedError" })
    await assert.rejects(enqueue("suspect", { reputation: "suspect" }), { name: "OverloadedError" })
    await finish(3)
    await Promise.all(waiting)
  })
})
