import assert from "node:assert/strict"
import { test } from "node:test"
import { unsetLimits } from "#contract"
import { createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { changeMembership } from "./provision-account.ts"

test("a person or a group that was deleted since the sign-in began has no membership changed", async () => {
  await using fixture = await createIdentityFixture()
  const { store } = fixture
  const [ann, bob] = [await fixture.person("ann", null), await fixture.person("bob", null)]
  const plain = { comment: "", limits: unsetLimits, totalLimits: unsetLimits }
  const [gone, left] = await store.change(async (tx) => {
    const made = [await tx.groups.insert({ ...plain, groupName: "gone" }), await tx.groups.insert({ ...plain, groupName: "left" })] as const
    for (const { id } of made) await tx.groups.addMember(id, bob.id)
    await tx.users.setDeleted(ann.id, true)
    await tx.groups.setDeleted(made[0].id, true)
    return made
  })
  const change = (userId: number, membership: Parameters<typeof changeMembership>[2]) =>
    store.change((tx) => changeMembership(tx, userId, membership))
  assert.equal(await change(ann.id, { join: "left" }), undefined)
  assert.equal(await change(bob.id, { leave: gone }), undefined)
  assert.deepEqual(await store.groups.members(left.id), ["bob"])
  assert.deepEqual(await change(bob.id, { leave: left }).then((changed) => changed?.verb), "updated")
  assert.deepEqual(await store.groups.members(left.id), [])
})
