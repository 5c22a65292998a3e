import assert from "node:assert/strict"
import { once } from "node:events"
import { Agent, request } from "node:http"
import { StatementSync } from "node:sqlite"
import { test } from "node:test"
import { RequestTurns } from "#http"
import { sendRequest } from "../api/http-client.ts"
import { type Person, startTestServer } from "../test-server.ts"

/*
 * A list of a person's projects takes milliseconds of the processor, and a person may request
 * hundreds at once.
 */

test("another person's request is answered before most of one person's hundreds of lists, previews, pages, writes and starts", async (t) => {
  // All begin in one turn, as those do that waited for the same thing.
  t.mock.method(RequestTurns.prototype, "run", (_key: unknown, begin: () => void) => begin())
  await using server = await startTestServer()
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 1_000 })
  t.after(() => agent.destroy())
  const { port } = new URL(server.quayside.baseUrl)
  const send = async (by: Person | { cookie: string }, path: string, body?: object, method = body ? "POST" : "GET") => {
    const options = { host: "127.0.0.1", port, agent, path, method }
    const proof = "cookie" in by ? by : { authorization: by.authorization }
    const sent = request({ ...options, headers: { ...proof, ...(body ? { "content-type": "application/json" } : {}) } })
    sent.end(body && JSON.stringify(body))
    const [response] = await once(sent, "response")
    response.resume()
    await once(response, "end")
    return response.statusCode
  }
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  const project = { ProjectName: "p", Type: "jupyterlab", ImageID }
  const [first] = await Promise.all(Array.from({ length: 50 }, () => ann.client.createProject({ body: project })))
  // All connections are open: new ones would be accepted one in each turn.
  await Promise.all(Array.from({ length: 301 }, () => send(bob, "/whoami")))
  const start = { ProjectID: first?.ID }
  const { ID: ended } = await ann.client.startRun({ body: { ProjectID: first?.ID as number } })
  await ann.client.stopRun({ query: { ID: ended } })
  const signIn = { UserName: ann.userName, Password: ann.password }
  const signedIn = await sendRequest(server.quayside.baseUrl, "POST", "/session", { body: signIn })
  const browser = { cookie: String(signedIn.headers["set-cookie"]).split(";")[0] as string }
  const requests = [
    { each: () => send(ann, "/projects?pageSize=200"), most: 150 },
    { each: () => send(ann, "/preview", start), most: 150 },
    // Nothing is left to stop: it only reads.
    { each: () => send(ann, `/running_project?ID=${ended}`, undefined, "DELETE"), most: 250 },
    // A page takes a tenth of a millisecond.
    { each: () => send(browser, "/open?ID=1"), most: 270 },
  ]
  for (const { each, most } of requests) {
    let answered = 0
    const all = Array.from({ length: 300 }, () => each().then(() => (answered += 1)))
    assert.equal(await send(bob, "/whoami"), 200)
    assert.ok(answered < most, `${answered} were answered before`)
    await Promise.all(all)
  }
  let plans = 0
  const readAll = StatementSync.prototype.all
  t.mock.method(StatementSync.prototype, "all", function (this: StatementSync, ...args: Parameters<typeof readAll>) {
    if (this.sourceSQL.includes('from "project_datasets"')) plans += 1
    return readAll.apply(this, args)
  })
  const starts = Array.from({ length: 300 }, () => send(ann, "/running_project", start))
  await send(bob, "/whoami")
  assert.ok(plans < 150, `${plans} starts were planned before`)
  await Promise.all(starts)
  assert.ok(plans >= 300)
})
