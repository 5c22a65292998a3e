import assert from "node:assert/strict"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { startServerProcess } from "../server-process.ts"

test("`kill -9` loses no stored usage of a run, and the next process marks the gap", async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  const client = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const { ID: ImageID } = await client.createImage({ body: { Name: "usage", Image: "fake/http" } })
  const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "usage", Type: "http", ImageID } })
  const { ID } = await client.startRun({ body: { ProjectID, Memory: 512 } })
  const stats = () => client.runStats({ query: { ID } })
  const before = await stats()
  assert.equal(before.series.at(-1)?.Memory, 32)
  await server.kill("SIGKILL")
  await server.start()
  const after = await stats()
  assert.deepEqual(after.series[0], before.series[0])
  assert.equal(after.now.Memory, 32)
  assert.deepEqual(
    after.marks.map(({ Kind, Text }) => [Kind, Text]),
    [["restart", "Quayside was started again; it has no figures of the time between"]],
  )
})
