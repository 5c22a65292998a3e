import assert from "node:assert/strict"
import { test } from "node:test"
import { unsetLimits } from "#contract"
import { openEvents } from "#events"
import { silentLogger } from "#kit"
import { eventually } from "../../test/fixtures/eventually.ts"
import { createIdentityFixture } from "../../test/fixtures/identity.ts"
import { recordQueries } from "../../test/fixtures/recorded-queries.ts"
import { startGrantExpiry } from "./grant-expiry.ts"

test("grants to a group expire without a look at its members", async () => {
  await using fixture = await createIdentityFixture()
  const { store, clock, person } = fixture
  await using events = openEvents({ store, clock, logger: silentLogger })
  const people: number[] = []
  for (let i = 0; i < 10; i += 1) people.push((await person(`p${i}`, null)).id)
  const owner = people[0] as number
  const plain = { comment: "", limits: unsetLimits, totalLimits: unsetLimits }
  const team = await store.change(async (tx) => {
    const { id } = await tx.groups.insert({ ...plain, groupName: "team" })
    await tx.groups.setMembers(id, people)
    return id
  })
  await using _expiry = startGrantExpiry({ store, events, clock, logger: silentLogger })
  const expireTogether = async () => {
    const grant = { resourceType: "image", ownerId: owner, userId: 0, groupId: team, access: "read", createdBy: owner } as const
    await store.change(async (tx) => {
      for (let id = 1; id <= 5; id += 1) await tx.grants.put({ ...grant, resourceId: id, expiresAt: clock.now() })
    })
    await eventually("the grants are removed", async () => {
      await clock.advance(5_000)
      return !(await store.grants.anyExpired())
    })
  }
  const queries = await recordQueries(expireTogether)
  assert.equal(queries.filter((sql) => sql.includes('from "group_members"')).length, 0)
  assert.equal(queries.filter((sql) => sql.includes('from "users"') && sql.includes('"user_name" =')).length, 0)
  const told = (await store.events.after(0, 100)).filter(({ event }) => event === "image.updated")
  assert.ok(told.length >= 5)
  for (const { visibility } of told) assert.deepEqual(visibility, { toGroup: team })
})

test("thousands of grants of one person that expire delay the notice of another's by less than a round", async () => {
  await using fixture = await createIdentityFixture()
  const { store, clock, person } = fixture
  await using events = openEvents({ store, clock, logger: silentLogger })
  const [{ id: hostile }, { id: ann }, { id: bob }] = [await person("eve", null), await person("ann", null), await person("bob", null)]
  await using _expiry = startGrantExpiry({ store, events, clock, logger: silentLogger })
  const grant = { resourceType: "image", groupId: 0, access: "read", expiresAt: clock.now() } as const
  await store.change(async (tx) => {
    for (let id = 1; id <= 300; id += 1)
      await tx.grants.put({ ...grant, resourceId: id, ownerId: hostile, userId: ann, createdBy: hostile })
    await tx.grants.put({ ...grant, resourceId: 1_000, ownerId: ann, userId: bob, createdBy: ann, expiresAt: clock.now() + 1 })
  })
  const isTold = async () => (await store.events.after(0, 1_000)).some(({ resource }) => resource.id === 1_000)
  await clock.advance(5_000)
  // It is asked a hundred times or so: less than the five seconds of a round.
  await eventually("the other's notice is there", async () => {
    await clock.advance(20)
    return isTold()
  })
})
