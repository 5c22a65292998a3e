import assert from "node:assert/strict"
import type { Case } from "./case.ts"

export const leaseCases: Record<string, Case> = {
  "a lease has one holder, and tokens that grow": async ({ open }) => {
    await using store = await open()
    const name = "supervisor"
    assert.equal(await store.leases.get(name), undefined)
    const first = await store.change((tx) => tx.leases.take(name, { holder: "one", address: "one:1" }))
    assert.equal(await store.change((tx) => tx.leases.renew(name, first)), true)
    assert.deepEqual(await store.leases.get(name), { name, holder: "one", address: "one:1", token: first, renewals: 1 })
    const second = await store.change((tx) => tx.leases.take(name, { holder: "two", address: "two:1" }))
    assert.ok(second > first)
    assert.equal(await store.change((tx) => tx.leases.renew(name, first)), false, "the former holder renews nothing")
    await store.change((tx) => tx.leases.release(name, first))
    assert.deepEqual(await store.leases.get(name), { name, holder: "two", address: "two:1", token: second, renewals: 0 })
    await store.change((tx) => tx.leases.release(name, second))
    assert.deepEqual(await store.leases.get(name), { name, holder: "", address: "two:1", token: second, renewals: 0 })
    assert.equal(await store.change((tx) => tx.leases.take("another", { holder: "two", address: "" })), 1)
  },

  "a one-time proof is used once, and not after its end": async ({ open, clock }) => {
    await using store = await open()
    const use = (id: string, endsAt = clock.now() + 1_000) => store.change((tx) => tx.proofs.use({ id, endsAt }))
    assert.deepEqual((await Promise.all([use("a"), use("a"), use("b")])).filter(Boolean), [true, true])
    assert.equal(await use("a"), false)
    assert.equal(await use("c", clock.now()), false)
    assert.equal(await use("d", clock.now() + 1), true)
  },
}
