import assert from "node:assert/strict"
import { test } from "node:test"
import { systemClock } from "#kit"
import { currentReader } from "#store"
import { createFilesAuthority } from "./files-authority.ts"
import { createRunDirectory } from "./run-directory.ts"

test("questions about a person's rights on paths read as that person, and use few of the connections to PostgreSQL", async () => {
  const readers: (number | string | undefined)[] = []
  const get = async () => void readers.push(currentReader())
  const parts = { store: { users: { get } }, clock: systemClock }
  const authority = createFilesAuthority(parts as unknown as Parameters<typeof createFilesAuthority>[0])
  await Promise.all([authority.access(7, ["/users/ann"]), authority.access(8, ["/users/ann"])])
  assert.deepEqual(readers, [7, 8])
})

test("requests for somebody else's run read as the person who sent them", async () => {
  const readers: (number | string | undefined)[] = []
  const refreshCaller = async () => void readers.push(currentReader())
  const parts = { identity: { refreshCaller }, runs: { row: () => undefined } }
  const directory = createRunDirectory(parts as unknown as Parameters<typeof createRunDirectory>[0])
  assert.equal(await directory.canOpen({ userId: 7, credentialId: "token:1" }, 1), false)
  assert.deepEqual(readers, [7])
})

test("one person's tickets are used one after another, and another's does not wait for them", async () => {
  const gate = Promise.withResolvers<boolean>()
  let count = 0
  const change = async () => {
    count += 1
    return gate.promise
  }
  const parts = { store: { change } } as unknown as Parameters<typeof createRunDirectory>[0]
  const directory = createRunDirectory(parts)
  const use = (userId: number) => directory.claimTicket({ id: "ticket x", endsAt: 1, userId })
  const all = Array.from({ length: 5 }, () => use(7))
  all.push(use(8))
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(count, 2)
  gate.resolve(true)
  assert.deepEqual(new Set(await Promise.all(all)), new Set([true]))
  assert.equal(count, 6)
})
