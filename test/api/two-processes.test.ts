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
  await using firstServer = await startTestServer()
  await using secondServer = await startTestServer({ "database-url": firstServer.databaseUrl as string, "data-dir": firstServer.dataDir })
  const ann = await firstServer.person("ann")
  const secondClient = createClient({ baseUrl: secondServer.quayside.baseUrl, authorization: ann.authorization })
  await using firstEvents = await recordEvents(ann.client)
  await using secondEvents = await recordEvents(secondClient)
  const images = await Promise.all(
    Array.from({ length: 60 }, (_, i) => (i % 2 ? ann.client : secondClient).createImage({ body: { Name: `${i}`, Image: "a" } })),
  )
  for (const { ID } of images) await Promise.all([firstEvents.until(`image.created ${ID}`), secondEvents.until(`image.created ${ID}`)])
  assert.deepEqual(firstEvents.events, secondEvents.events)
  assert.equal(new Set(firstEvents.received).size, 60)

  const bob = await firstServer.person("bob")
  const { ID: ImageID } = images[0] as { ID: number }
  const group = await firstServer.admin.createGroup({ body: { GroupName: "crew", Members: ["ann", "bob"] } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID, GroupName: "crew" } })
  await using bobsEvents = await recordEvents(createClient({ baseUrl: secondServer.quayside.baseUrl, authorization: bob.authorization }))
  await firstServer.admin.updateGroup({ body: { ID: group.ID, Members: ["ann"] } })
  await bobsEvents.until(`project.deleted ${project.ID}`)
  await firstServer.admin.updateUser({
    body: { ID: (await firstServer.admin.readUser({ query: { UserName: "bob" } })).ID, IsDisabled: true },
  })
  await bobsEvents.ended
  const token = await ann.client.createToken({ body: { Name: "t" } })
  await using tokenEvents = await recordEvents(
    createClient({ baseUrl: secondServer.quayside.baseUrl, authorization: bearerAuth(token.Token) }),
  )
  await ann.client.deleteToken({ query: { ID: token.ID } })
  await tokenEvents.ended

  const { lastEventId } = secondEvents
  const missed = await ann.client.createImage({ body: { Name: "missed", Image: "a" } })
  await secondServer.restart()
  await using resumed = await recordEvents(secondClient, lastEventId)
  await resumed.until(`image.created ${missed.ID}`)
})
