import assert from "node:assert/strict"
import { test } from "node:test"
import { bearerAuth, createClient } from "#client"
import { startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"

test("two processes on one PostgreSQL send each other's changes to their readers in one order, and disconnect people whom the other disables", {
  // src/store runs this file with its own server.
  skip: process.env.TEST_POSTGRES ? false : "PostgreSQL is needed",
  timeout: 120_000,
}, async () => {
  await using one = await startTestServer()
  await using two = await startTestServer({ "database-url": one.databaseUrl as string, "data-dir": one.dataDir })
  const ann = await one.person("ann")
  const elsewhere = createClient({ baseUrl: two.quayside.baseUrl, authorization: ann.authorization })
  await using here = await recordEvents(ann.client)
  await using there = await recordEvents(elsewhere)
  const made = await Promise.all(
    Array.from({ length: 60 }, (_, i) => (i % 2 ? ann.client : elsewhere).createImage({ body: { Name: `${i}`, Image: "a" } })),
  )
  for (const { ID } of made) await Promise.all([here.until(`image.created ${ID}`), there.until(`image.created ${ID}`)])
  assert.deepEqual(here.events, there.events)
  assert.equal(new Set(here.told).size, 60)

  const bob = await one.person("bob")
  const { ID: ImageID } = made[0] as { ID: number }
  const group = await one.admin.createGroup({ body: { GroupName: "crew", Members: ["ann", "bob"] } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID, GroupName: "crew" } })
  await using toBob = await recordEvents(createClient({ baseUrl: two.quayside.baseUrl, authorization: bob.authorization }))
  await one.admin.updateGroup({ body: { ID: group.ID, Members: ["ann"] } })
  await toBob.until(`project.deleted ${project.ID}`)
  await one.admin.updateUser({ body: { ID: (await one.admin.readUser({ query: { UserName: "bob" } })).ID, IsDisabled: true } })
  await toBob.ended
  const token = await ann.client.createToken({ body: { Name: "t" } })
  await using byToken = await recordEvents(createClient({ baseUrl: two.quayside.baseUrl, authorization: bearerAuth(token.Token) }))
  await ann.client.deleteToken({ query: { ID: token.ID } })
  await byToken.ended

  const { place } = there
  const missed = await ann.client.createImage({ body: { Name: "missed", Image: "a" } })
  await two.restart()
  await using again = await recordEvents(elsewhere, place)
  await again.until(`image.created ${missed.ID}`)
})
