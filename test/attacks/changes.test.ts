import assert from "node:assert/strict"
import { test } from "node:test"
import { openExec } from "#channel"
import { PersonLimiter } from "#http"
import { sendRequest } from "../api/http-client.ts"
import { connectTo, runToEnd } from "../control/control-client.ts"
import { startTestServer } from "../test-server.ts"

/*
 * All changes of the database are made one after another. A change of a project with 64 datasets
 * takes milliseconds, and a person may request thousands at once.
 */

test("the changes of people who are not administrators take turns", async (t) => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const counted = t.mock.method(PersonLimiter.prototype, "run")
  const image = await ann.client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  await ann.client.updateImage({ body: { ID: image.ID, Name: "j" } })
  await ann.client.deleteImage({ query: { ID: image.ID } })
  assert.equal(counted.mock.callCount(), 3)
  await server.admin.createImage({ body: { Name: "i", Image: "fake/ready" } })
  assert.equal(counted.mock.callCount(), 3)
})

test("sign-ins and ends of sessions take turns with the other changes of their person", async (t) => {
  await using server = await startTestServer()
  const { baseUrl } = server.quayside
  const ann = await server.person("ann")
  const counted = t.mock.method(PersonLimiter.prototype, "run")
  await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "ann", Password: ann.password } })
  assert.equal(counted.mock.callCount(), 1)
  const { data } = await ann.client.listSessions()
  counted.mock.resetCalls()
  await ann.client.deleteSession({ query: { ID: data[0]?.ID as number } })
  await ann.client.deleteSession({ query: { All: 1 } })
  assert.equal(counted.mock.callCount(), 2)
})

test("starts, stops and extensions of runs take turns with the other changes of their person", async (t) => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  const { ID: ProjectID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  const counted = t.mock.method(PersonLimiter.prototype, "run")
  const countOf = async (work: () => Promise<unknown>) => {
    counted.mock.resetCalls()
    await work()
    return counted.mock.callCount()
  }
  let id = 0
  const counts = {
    // The other one is its plan.
    start: await countOf(async () => {
      id = (await ann.client.startRun({ body: { ProjectID } })).ID
    }),
    keep: await countOf(() => ann.client.keepRun({ query: { ID: id } })),
    stop: await countOf(() => ann.client.stopRun({ query: { ID: id } })),
    // Nothing is left to change.
    stopAgain: await countOf(() => ann.client.stopRun({ query: { ID: id } })),
  }
  assert.deepEqual(counts, { start: 2, keep: 1, stop: 1, stopAgain: 0 })
})

test("programs in runs are recorded in turns with the other changes of their person", async (t) => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/http", Port: "8080" } })
  const { ID: ProjectID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  const { ControlURL } = await ann.client.startRun({ body: { ProjectID } })
  using connection = await connectTo(ControlURL, ann.authorization)
  const counted = t.mock.method(PersonLimiter.prototype, "run")
  await Promise.all(Array.from({ length: 5 }, () => runToEnd(openExec(connection, { command: ["sh", "-c", "exit 0"] }))))
  assert.equal(counted.mock.callCount(), 5)
})
