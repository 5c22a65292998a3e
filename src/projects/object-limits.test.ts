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
