import assert from "node:assert/strict"
import { after, test } from "node:test"
import { bearerAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())

test("a start that waits tells nothing to a token that ended meanwhile", async () => {
  const { client } = await server.person("ann")
  const { ID: ImageID } = await client.createImage({ body: { Name: "slow", Image: "fake/slow:2000" } })
  const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "Slow", Type: "http", ImageID } })
  const { ID, Token } = await client.createToken({ body: { Name: "leaked" } })
  const thief = createClient({ baseUrl: server.quayside.baseUrl, authorization: bearerAuth(Token) })
  const started = thief.startRun({ body: { ProjectID } }).then(
    () => 200,
    ({ status }: { status: number }) => status,
  )
  await eventually("the start waits", async () => (await client.listRuns({ query: { page: 1 } })).data.length === 1)
  await client.deleteToken({ query: { ID } })
  assert.equal(await started, 401)
})
