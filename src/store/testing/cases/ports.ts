import assert from "node:assert/strict"
import { addUser } from "../samples.ts"
import type { Case } from "./case.ts"

const range = { first: 21_000, last: 21_009 }

export const portCases: Record<string, Case> = {
  "a port belongs to its first person and authors for ever": async ({ open }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const row = { port: 21_003, userId: ann.id, authors: "own", projectId: 4, runKey: "a".repeat(32), isHandedOver: true }
    const take = (more: Partial<typeof row>) => store.change((tx) => tx.ports.assign({ ...row, ...more }))
    assert.equal(await take({}), true)
    assert.equal(await take({ userId: bob.id }), false)
    assert.equal(await take({ authors: "4:1" }), false)
    assert.deepEqual(await store.ports.ofUser(ann.id, range), [row])
    const next = { projectId: 5, runKey: "b".repeat(32), isHandedOver: false }
    assert.equal(await take(next), true)
    assert.deepEqual(await store.ports.ofUser(ann.id, range), [{ ...row, ...next }])
    await store.change((tx) => tx.users.setDeleted(ann.id, true))
    assert.equal(await take({ userId: bob.id }), false, "whoever is deleted keeps it")
    assert.deepEqual(await store.ports.ofUser(bob.id, range), [])
  },

  "ports are read within a range": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const all = [21_010, 20_999, 21_009, 21_000]
    const row = { userId: ann.id, authors: "own", projectId: 4, runKey: "a".repeat(32), isHandedOver: false }
    await store.change(async (tx) => {
      for (const port of all) await tx.ports.assign({ ...row, port })
    })
    assert.deepEqual(await store.ports.assigned(range), [21_000, 21_009])
    assert.deepEqual(
      (await store.ports.ofUser(ann.id, range)).map(({ port }) => port),
      [21_000, 21_009],
    )
  },
}
