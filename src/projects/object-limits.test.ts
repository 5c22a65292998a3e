import assert from "node:assert/strict"
import { test } from "node:test"
import type { Caller } from "#access"
import { unlimited, unsetLimits } from "#contract"
import { createIdentityFixture } from "../../test/fixtures/identity.ts"
import { recordQueries } from "../../test/fixtures/recorded-queries.ts"
import { ObjectLimits } from "./object-limits.ts"

test("a group's limit of objects costs as many queries however many members the group has", async () => {
  await using fixture = await createIdentityFixture()
  const { store, clock, person } = fixture
  const people = [await person("p0", null), await person("p1", null)]
  const plain = { comment: "", limits: unsetLimits }
  const { id } = await store.change((tx) =>
    tx.groups.insert({ ...plain, groupName: "team", totalLimits: { ...unsetLimits, MaxObjects: 3 } }),
  )
  const join = () =>
    store.change((tx) =>
      tx.groups.setMembers(
        id,
        people.map((each) => each.id),
      ),
    )
  const caller = { isAdmin: false, userId: people[0]?.id } as Caller
  const check = () => new ObjectLimits(clock, unlimited).checkRoom(store, caller, caller.userId)
  await join()
  const few = await recordQueries(check)
  for (let i = 2; i < 12; i += 1) people.push(await person(`p${i}`, null))
  await join()
  assert.equal((await recordQueries(check)).length, few.length)
})

test("members of a group create objects up to its limit, and most of them count nothing", async () => {
  await using fixture = await createIdentityFixture()
  const { store, clock, person } = fixture
  const people = [await person("p0", null), await person("p1", null)]
  const limit = 20
  await store.change(async (tx) => {
    const totalLimits = { ...unsetLimits, MaxObjects: limit }
    const { id } = await tx.groups.insert({ groupName: "team", comment: "", limits: unsetLimits, totalLimits })
    await tx.groups.setMembers(
      id,
      people.map((each) => each.id),
    )
  })
  const objectLimits = new ObjectLimits(clock, unlimited)
  let counts = 0
  let made = 0
  const create = async () => {
    const userId = people[made % 2]?.id ?? 0
    const queries = await recordQueries(() => objectLimits.checkRoom(store, { isAdmin: false, userId } as Caller, userId))
    counts += Math.min(1, queries.length)
    const texts = { name: "n", comment: "", doc: "", accessInfo: `/data/${made}` }
    await store.change((tx) => tx.data.insert({ ...texts, userId, type: "dir", isPublished: false }))
    made += 1
  }
  const all = async () => {
    for (;;) await create()
  }
  await assert.rejects(all(), /all members of team together/)
  assert.equal(made, limit)
  assert.ok(counts < 16, `${counts} of ${limit} counted`)
})
