import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { sendRequest } from "../api/http-client.ts"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"

/*
 * Bob has one dataset within another. Through the outer one a program of his changes what the inner
 * one's path leads to; then he starts something with the inner one.
 */

const canary = "canary-of-ann"
let server: TestServer
let [ann, bob]: Person[] = []
before(async () => {
  server = await startTestServer({ engine: "docker" })
  ;[ann, bob] = [await server.person("ann"), await server.person("bob")]
  await ann.client.createData({ body: { Name: "leaf", AccessInfo: "/users/ann/leaf" } })
  const put = await sendRequest(server.quayside.filesUrl, "PUT", "/users/ann/leaf/secret.txt", { as: ann.authorization, body: canary })
  assert.equal(put.status, 201)
})
after(async () => {
  for (const { ID, State } of (await server.admin.listRuns({ query: { pageSize: 100 } })).data)
    if (State === "ready") await server.admin.stopRun({ query: { ID } })
  await server[Symbol.asyncDispose]()
})

/**
 * Runs a script as a program of Bob's with this dataset at `/data`; returns its output, or why it
 * did not start.
 */
async function tried(script: string, DataID: number): Promise<string> {
  const { client } = bob as Person
  const Command = JSON.stringify(["sh", "-c", `${script}; echo; echo done; exec httpd -f -p 8080 -h /www`])
  const { ID: ImageID } = await server.admin.createImage({
    body: { Name: "tries", Image: await ensureBusyboxImage(), Command, Port: "8080", IsPublished: true },
  })
  const TrainData = [{ ID: DataID, MountPath: "/data" }]
  const project = await client.createProject({ body: { ProjectName: "p", Type: "http", ImageID, TrainData } })
  const run = await client.startRun({ body: { ProjectID: project.ID } }).catch((error: unknown) => String((error as Error).message))
  if (typeof run === "string") return run
  const output = JSON.stringify(await Array.fromAsync(await client.runLogs({ query: { ID: run.ID } })))
  await client.stopRun({ query: { ID: run.ID } })
  return output
}

const swaps: [what: string, inner: string, script: string][] = [
  ["the directory itself", "leaf", "mv leaf was && ln -s ../../ann/leaf leaf"],
  ["a directory above it", "above/leaf", "mv above was && ln -s ../../ann above"],
]
for (const [n, [what, inner, script]] of swaps.entries()) {
  test(`a dataset within another mounts nobody else's directory after ${what} became a link`, async () => {
    const { client, authorization } = bob as Person
    const tree = `/users/bob/tree${n}`
    const outer = await client.createData({ body: { Name: "outer", AccessInfo: tree } })
    const data = await client.createData({ body: { Name: "inner", AccessInfo: `${tree}/${inner}` } })
    assert.match(
      await tried("cd /data && touch mine && echo mounted", data.ID),
      /mounted/,
      "it is mounted while nobody has changed anything",
    )
    assert.match(await tried(`cd /data && ${script} && ls -l`, outer.ID), / -> \.\.\/\.\.\/ann/)
    assert.ok(existsSync(join(server.dataDir, "files", `${tree}/${inner}`, "secret.txt")), "on the host the path leads there")
    const output = await tried("cat /data/* /data/*/*", data.ID)
    assert.doesNotMatch(output, new RegExp(canary))
    assert.match(output, /is missing|does not exist|not a directory|mount/i)
    const read = await sendRequest(server.quayside.filesUrl, "GET", `${tree}/${inner}/secret.txt`, { as: authorization })
    assert.equal(read.status, 404)
  })
}
