import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { HashQueue, type HashRequest } from "./hash-queue.ts"

const some = { known: 100, clean: 100, suspect: 100 }

/** A queue whose work ends when it is told to, and the order in which it began. */
function controlled(width: number, maxWaiting = some) {
  const queue = new HashQueue(width, maxWaiting)
  const began: string[] = []
  const running: PromiseWithResolvers<void>[] = []
  return {
    queue,
    began,
    ask(label: string, place: Partial<HashRequest>): Promise<void> {
      return queue.run({ reputation: "clean", address: "192.0.2.1", name: label, ...place }, async () => {
        began.push(label)
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
    const { queue, began, ask, finish } = controlled(3)
    const all = [ask("ann 1", { name: "ann" }), ask("ann 2", { name: "ann" }), ask("bob", { name: "bob" })]
    assert.deepEqual(began, ["ann 1", "bob"])
    await finish(3)
    assert.deepEqual(began, ["ann 1", "bob", "ann 2"])
    await Promise.all(all)
    queue.close(new Error("over"))
  })

  it("take turns between addresses, and within one between names, however many wait", async () => {
    const { began, ask, finish } = controlled(1)
    const crowd = Array.from({ length: 20 }, (_, i) => ask(`crowd ${i}`, { name: `crowd${i % 2}`, address: "198.51.100.1" }))
    const others = [ask("ann", { address: "192.0.2.1" }), ask("bob", { address: "192.0.2.2" }), ask("carl", { address: "198.51.100.1" })]
    await finish(23)
    await Promise.all([...crowd, ...others])
    assert.ok(began.indexOf("ann") <= 2, began.join())
    assert.ok(began.indexOf("bob") <= 3, began.join())
    assert.ok(began.indexOf("carl") <= 6, began.join())
  })

  it("of known devices and of addresses without failures have queues of their own", async () => {
    const { began, ask, finish } = controlled(1)
    const crowd = Array.from({ length: 20 }, (_, i) => ask(`stranger ${i}`, { address: `198.51.100.${i}` }))
    const failed = ask("suspect", { reputation: "suspect", address: "203.0.113.1" })
    const known = ask("known", { reputation: "known", address: "203.0.113.2" })
    await finish(22)
    await Promise.all([...crowd, failed, known])
    assert.equal(began.indexOf("known"), 1, began.join())
    assert.ok(began.indexOf("suspect") <= 3, began.join())
  })

  it("are refused beyond the bound of their reputation, and the other levels stay open", async () => {
    const { ask, finish } = controlled(1, { known: 1, clean: 1, suspect: 0 })
    const taken = [ask("one", {}), ask("two", {}), ask("known", { reputation: "known" })]
    await assert.rejects(ask("three", {}), { name: "OverloadedError" })
    await assert.rejects(ask("suspect", { reputation: "suspect" }), { name: "OverloadedError" })
    await finish(3)
    await Promise.all(taken)
  })
})
